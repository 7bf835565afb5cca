package gatehttp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCredential: a credential is read from a file that nobody else can read, and errors say
// nothing of it.
func TestCredential(t *testing.T) {
	dir := t.TempDir()
	write := func(text string, mode os.FileMode) func(string) error {
		return func(file string) error {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return err
			}
			return os.Chmod(file, mode)
		}
	}
	for name, tt := range map[string]struct {
		make func(file string) error
		want string
	}{
		"a line":                     {write(canary+"\n", 0o600), canary},
		"no line":                    {write(canary, 0o400), canary},
		"two lines":                  {write(canary+"\nx\n", 0o600), canary + "\nx"},
		"readable by the group":      {write(canary, 0o640), ""},
		"readable by all":            {write(canary, 0o604), ""},
		"writable by all":            {write(canary, 0o602), ""},
		"empty":                      {write("", 0o600), ""},
		"a newline alone":            {write("\n", 0o600), ""},
		"no text":                    {write(canary+"\xff", 0o600), ""},
		"too long":                   {write(strings.Repeat(canary, 10_000), 0o600), ""},
		"a folder":                   {func(file string) error { return os.Mkdir(file, 0o700) }, ""},
		"a pipe":                     {func(file string) error { return unix.Mkfifo(file, 0o600) }, ""},
		"missing":                    {func(string) error { return nil }, ""},
		"a link to one that is good": {func(file string) error { return os.Symlink(filepath.Join(dir, "a line"), file) }, ""},
	} {
		file := filepath.Join(dir, name)
		if err := tt.make(file); err != nil {
			t.Fatal(err)
		}
		got, err := ReadCredential(file)
		if got != tt.want || (err == nil) != (tt.want != "") || err != nil && strings.Contains(err.Error(), canary[:12]) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestCredentialFile: the service manager's folder holds files of its service alone, which
// systemd lets it read by an access list.
func TestCredentialFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "key"), 0o440); err != nil {
		t.Fatal(err)
	}
	file, err := CredentialFile("key")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadCredential(file); got != canary || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"", ".", "..", "../key", "/key", "a/b", ".key"} {
		if file, err := CredentialFile(name); err == nil {
			t.Errorf("%q is %s", name, file)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if _, err := CredentialFile("key"); err == nil {
		t.Error("without the service manager")
	}
	if _, err := ReadCredential(filepath.Join(dir, "key")); err == nil {
		t.Error("a file that the group can read, elsewhere")
	}
}
