package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy/imports"
)

// TestImports imports the settings in import.md, compares the resulting lists, and
// decides the calls with them.
func TestImports(t *testing.T) {
	table, err := programs.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := shippedProfiles()
	if err != nil {
		t.Fatal(err)
	}
	var im *imports.Import
	var w *world
	var seen []imports.Tool
	for _, b := range read(t, "import.md").blocks {
		words := strings.Fields(b.info)
		switch {
		case len(words) == 3:
			tool := imports.Tool(words[1])
			seen = append(seen, tool)
			im, err = imports.Translate(tool, []imports.File{{Name: filepath.Join(home, words[2]), Data: []byte(b.text)}},
				imports.Options{Home: home, Table: table, Profiles: profiles})
			if err != nil {
				t.Fatalf("import.md:%d: %v", b.first, err)
			}
			files := map[string]string{}
			for _, f := range im.Files {
				files[f.Name] = f.Text
			}
			w = newWorld(t, rules{user: folder(t, files)})
		case b.info == "yaml rules":
			got := ""
			for _, f := range im.Files {
				if f.Name == "rules.yaml" {
					got = regexp.MustCompile(`(?m)^#.*\n| #.*$`).ReplaceAllString(f.Text, "")
				}
			}
			if diff := cmp.Diff(b.text, got); diff != "" {
				t.Errorf("import.md:%d: the list differs (-shown +made):\n%s", b.first, diff)
			}
		case b.info == "text calls":
			for line := range strings.Lines(b.text) {
				verdict, call, _ := strings.Cut(strings.TrimSpace(line), " ")
				call = strings.TrimSpace(call)
				if d := w.decide(t, w.call(t, call)); string(d.Verdict) != verdict {
					t.Errorf("import.md:%d: %s: the verdict is %s (%s), want %s", b.first, call, d.Verdict, d.Reason, verdict)
				}
			}
		}
	}
	if !slices.Equal(seen, imports.Tools) {
		t.Errorf("there are examples of %v, want %v", seen, imports.Tools)
	}
}

// TestImportOutcomes compares the table of outcomes with the constants.
func TestImportOutcomes(t *testing.T) {
	text, err := os.ReadFile("import.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range imports.Outcomes {
		if !strings.Contains(string(text), "\n| `"+string(o)+"` |") {
			t.Errorf("import.md has no row %s", o)
		}
	}
}
