package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProtocols: each row of the pages about protocols, statement by statement, names tests
// that exist.
func TestProtocols(t *testing.T) {
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	for page, folders := range map[string][]string{
		"acp": {"socket/acp", "socket/proxy"},
		"aap": {"socket/aap", "socket/aap/gateway", "socket/aap/server"},
		"rap": {"socket/rap", "socket/rap/gateway", "decisions/effects/tools", "decisions/recent", "decisions/journal", "socket/gatehttp"},
		"otc": {"socket/otc", "socket/otc/gateway", "socket/gatehttp"},
		"mcp": {"socket/mcp", "socket/gatehttp"},
	} {
		var source strings.Builder
		for _, folder := range append(folders, "cmd/permd") {
			files, err := filepath.Glob("../" + folder + "/*_test.go")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				source.Write(text)
			}
		}
		declared := source.String()
		text, err := os.ReadFile("protocols/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| test |\n") {
				continue
			}
			rows++
			cells := strings.Split(strings.TrimSpace(line), " | ")
			if len(cells) == 3 && strings.HasPrefix(cells[1], "not offered") {
				continue // there is nothing to test
			}
			if len(cells) != 3 || !named.MatchString(cells[2]) {
				t.Errorf("%s: a row without tests: %s", page, line)
			}
		}
		if rows < 20 {
			t.Errorf("%s: %d rows", page, rows)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(declared, "func "+m[1]+"(") {
				t.Errorf("%s: there is no %s", page, m[1])
			}
		}
	}
}
