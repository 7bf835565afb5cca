package gatehttp

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTokenIsMade(t *testing.T) {
	dir := shortDir(t)
	file := filepath.Join(dir, "http.token")
	token, err := Token(file)
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(token) {
		t.Fatalf("token %q, %v", token, err)
	}
	info, err := os.Lstat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("file %v, %v", info.Mode(), err)
	}
	if again, err := Token(file); err != nil || again != token {
		t.Errorf("then %v, another: %v", err, again != token)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if another, err := Token(file); err != nil || another == token {
		t.Errorf("a new one: %v, the same: %v", err, another == token)
	}
}

func TestTokenRefused(t *testing.T) {
	const good = "0123456789abcdef0123456789abcdef"
	for name, make := range map[string]func(t *testing.T, file string) error{
		"readable by the group": func(_ *testing.T, file string) error {
			return os.WriteFile(file, []byte(good), 0o640)
		},
		"readable by all": func(_ *testing.T, file string) error {
			if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
				return err
			}
			return os.Chmod(file, 0o604)
		},
		"a link": func(t *testing.T, file string) error {
			other := filepath.Join(t.TempDir(), "other")
			if err := os.WriteFile(other, []byte(good), 0o600); err != nil {
				return err
			}
			return os.Symlink(other, file)
		},
		"a link to nothing": func(_ *testing.T, file string) error { return os.Symlink(file+"x", file) },
		"a folder":          func(_ *testing.T, file string) error { return os.Mkdir(file, 0o700) },
		"a pipe":            func(_ *testing.T, file string) error { return unix.Mkfifo(file, 0o600) },
		"empty":             func(_ *testing.T, file string) error { return os.WriteFile(file, nil, 0o600) },
		"short":             func(_ *testing.T, file string) error { return os.WriteFile(file, []byte(good[1:]), 0o600) },
		"long": func(_ *testing.T, file string) error {
			return os.WriteFile(file, []byte(strings.Repeat("x", 600)), 0o600)
		},
		"two lines":   func(_ *testing.T, file string) error { return os.WriteFile(file, []byte(good+"\n"+good+"\n"), 0o600) },
		"white space": func(_ *testing.T, file string) error { return os.WriteFile(file, []byte(good+" \n"), 0o600) },
		"of another": func(t *testing.T, file string) error {
			if os.Geteuid() != 0 {
				t.Skip("giving a file to another user needs root")
			}
			if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
				return err
			}
			return os.Chown(file, 65534, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(shortDir(t), "http.token")
			if err := make(t, file); err != nil {
				t.Fatal(err)
			}
			token, err := Token(file)
			if err == nil || token != "" || strings.Contains(err.Error(), good[:16]) {
				t.Errorf("token %q, error %v", token, err)
			}
		})
	}
	open := filepath.Join(shortDir(t), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(filepath.Join(open, "http.token")); err == nil {
		t.Error("a token was made in a folder that others may enter")
	}
	if _, err := Token(filepath.Join(open, "missing", "http.token")); err == nil || !strings.Contains(err.Error(), fs.ErrNotExist.Error()) && !strings.Contains(err.Error(), "no such") {
		t.Errorf("in a folder that is missing: %v", err)
	}
}
