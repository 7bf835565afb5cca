package docs

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/rego"
)

// TestProgramsTried compares the list of programs that were tried with the program
// table. A program that was not tried has a reason.
func TestProgramsTried(t *testing.T) {
	var want []string
	for name, data := range rego.Programs() {
		var file struct {
			Programs []struct {
				Names []string `yaml:"names"`
			} `yaml:"programs"`
		}
		if err := yaml.Unmarshal(data, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range file.Programs {
			want = append(want, p.Names...)
		}
	}
	tables := read(t, "programs.md").find("program", "version", "forms", "outcome")
	if len(tables) != 1 {
		t.Fatalf("there are %d tables", len(tables))
	}
	var got []string
	tried := 0
	for _, row := range tables[0].rows {
		got = append(got, strings.Trim(row[0], "`"))
		if row[3] == "" {
			t.Errorf("%s: no outcome", row[0])
		}
		if row[2] != "" && row[2] != "0" {
			tried++
		}
		if strings.Contains(row[3], "differences") {
			t.Errorf("%s does something else than what is decided: %s", row[0], row[3])
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s is in the program table, and not in docs/programs.md: go run ./bench/programs -write", name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s is in docs/programs.md, and not in the program table", name)
		}
	}
	if tried < 60 {
		t.Errorf("only %d programs were tried", tried)
	}
}
