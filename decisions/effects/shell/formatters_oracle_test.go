package shell

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
)

// TestFormatterEndings runs the real formatters in a folder with the same text under names of all
// kinds, and with settings of the project: they write only files whose names end as their table says.
func TestFormatterEndings(t *testing.T) {
	const settings = "root = true\n[*]\nindent_style = space\nindent_size = 7\nshell_variant = bash\n[*.{yaml,yml,toml,rego,json}]\nindent_size = 3\n[[shell]]\nindent_size = 5\n[[bash]]\nindent_size = 5\n[rules.yaml]\nshell_variant = bash\n"
	for program, tt := range map[string]struct {
		args []string
		text string
	}{
		"gofmt": {[]string{"-w", "."}, "package   x\n"},
		"shfmt": {[]string{"-w", "."}, "#!/bin/bash\nif   a; then\nb;   fi\n"},
	} {
		t.Run(program, func(t *testing.T) {
			at, err := exec.LookPath(program)
			if err != nil {
				t.Skip("the formatter is not installed")
			}
			ends := effectstest.Table(t).Program(program).Opens
			dir := t.TempDir()
			names := []string{"x.go", "x.sh", "x.bash", "x.mksh", "x.bats", "x.ksh", "x.zsh", "x", "rules.yaml", "rules.yml", "x.yaml.go", "x.sh.yaml", "x.go.toml", "permd.toml", "a.rego", "x.json", "x.md", "x.txt", "X.GO", "X.SH", "x.go~", "x.", ".x"}
			for _, folder := range []string{"", ".permd", "sub", "sub/.permd"} {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
					t.Fatal(err)
				}
				for _, name := range names {
					if err := os.WriteFile(filepath.Join(dir, folder, name), []byte(tt.text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(filepath.Join(dir, folder, ".editorconfig"), []byte(settings), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), at, tt.args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			written := 0
			err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || d.Name() == ".editorconfig" {
					return err
				}
				data, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				if string(data) != tt.text {
					written++
					if !paths.HasEnd(file, ends) {
						t.Errorf("it has written %s", file)
					}
				}
				return nil
			})
			if err != nil || written == 0 {
				t.Errorf("%d files are written, %v", written, err)
			}
		})
	}
}
