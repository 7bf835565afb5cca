package records

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
)

// TestPathsAsShown: a path as lists show it selects what records have of it.
func TestPathsAsShown(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/home/ann")
	for text, want := range map[string]string{
		"": "", "a.txt": "a.txt", "/etc/x": "/etc/x", "./a.txt": filepath.Join(dir, "a.txt"), "../x": filepath.Join(filepath.Dir(dir), "x"),
		"~/.ssh": "/home/ann/.ssh", "~": "/home/ann", "./src/": filepath.Join(dir, "src") + "/", "./": dir + "/", ".env": ".env", "a/./b": "a/./b",
	} {
		o := Selection{RecordFilter: decisions.RecordFilter{Path: text}}
		f, err := o.Filter(time.Now(), false)
		if err != nil || f.Path != want {
			t.Errorf("--path %s selects %q, %v; want %q", text, f.Path, err, want)
		}
	}
}
