package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/lexpath"
)

// TestPathspecsInTwoWays restores a file by paths that git reads otherwise than the file system. If the
// real git changes it, denies of it must see that; what both read alike is understood.
func TestPathspecsInTwoWays(t *testing.T) {
	o := newContentsOracle(t)
	file := filepath.Join(o.project, "locked/x")
	for link, to := range map[string]string{"lo": "/usr/share", "in": "locked/d"} {
		if err := os.Symlink(to, filepath.Join(o.project, link)); err != nil {
			t.Fatal(err)
		}
	}
	restored := 0
	for _, command := range []string{"git restore", "git checkout --", "git checkout HEAD --"} {
		for _, path := range []string{
			"locked/x", "more/../locked/x", "lo/../locked/x", "in/../x", "in/../locked/x", "none/../locked/x", "a.txt/../locked/x", "y*/../locked/x", "more/y*/../../locked/x", "lo/../lock*/x", "more/../lock*", "in/../../locked/x", "./more/.././locked/x",
			"/proc/self/cwd/locked/x",
		} {
			filetest.Write(t, file, "changed\n")
			text := command + " '" + path + "'"
			b := onDisk(effectstest.Table(t), o.top, o.project, text)
			seen := slices.ContainsFunc(append(slices.Clone(b.Effects), b.Asides...), func(e effects.Effect) bool {
				return e.Kind == effects.KindWrite && e.File != nil && (e.File.Path == file || e.File.Recursive && lexpath.In(e.File.Path, file))
			})
			unknown := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
			o.run(o.project, text)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(data) != "changed\n" {
				// What a path of /proc leads to is not looked for: it asks.
				if restored++; !seen && (!unknown || !strings.HasPrefix(path, "/proc/")) {
					t.Errorf("%s restores the file; no effect shows it", text)
				}
			}
			if plain := path == "locked/x" || strings.Contains(path, "more/../") || strings.HasPrefix(path, "./"); plain && unknown {
				t.Errorf("%s is not understood", text)
			}
		}
	}
	if restored < 20 {
		t.Errorf("%d of the commands restored the file", restored)
	}
}
