package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProtocolOTC: each row of the page about Open Tool Calling names tests that exist.
func TestProtocolOTC(t *testing.T) {
	source := ""
	for _, folder := range []string{"../socket/otc", "../socket/otc/gateway", "../socket/gatehttp", "../cmd/permd"} {
		files, err := filepath.Glob(folder + "/*_test.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source += string(text)
		}
	}
	page, err := os.ReadFile("protocols/otc.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| test |\n") {
			continue
		}
		rows++
		tests := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z]+)`").FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 3 || len(tests) == 0 {
			t.Errorf("a row without tests: %s", line)
		}
		for _, m := range tests {
			if !strings.Contains(source, "func "+m[1]+"(") {
				t.Errorf("there is no %s", m[1])
			}
		}
	}
	if rows < 25 {
		t.Errorf("%d rows", rows)
	}
}
