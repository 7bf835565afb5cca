package processname

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestOfOther: the name is that of the file, whatever the process calls itself, bounded and UTF-8, also
// after the file was removed.
func TestOfOther(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep")
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"claude":                         "claude",
		strings.Repeat("a", 200):         strings.Repeat("a", maxName),
		"\xff" + strings.Repeat("é", 60): "",
	} {
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, program, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, "60")
		cmd.Args[0] = "permd"
		if err := cmd.Start(); err != nil {
			t.Skip(err) // sleep is part of a program that goes by its name
		}
		for range 2 {
			name := Of(int32(cmd.Process.Pid))
			if want != "" && name != want || !utf8.ValidString(name) || len(name) > maxName || name == "" {
				t.Errorf("%q is %q", file, name)
			}
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if name := Of(int32(cmd.Process.Pid)); name != "" {
			t.Errorf("the process that has ended is %q", name)
		}
	}
}
