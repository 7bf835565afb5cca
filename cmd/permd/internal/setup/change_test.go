package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHookFileRefused has files that permd must not replace, whatever their
// contents.
func TestHookFileRefused(t *testing.T) {
	uid := uint32(os.Geteuid())
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		uid  uint32
		why  string
	}{
		{"a link", func(t *testing.T, path string) {
			writeConfig(t, path+".real", "{}")
			if err := os.Symlink(path+".real", path); err != nil {
				t.Fatal(err)
			}
		}, uid, "is a link"},
		{"two names", func(t *testing.T, path string) {
			writeConfig(t, path, "{}")
			if err := os.Link(path, path+".other"); err != nil {
				t.Fatal(err)
			}
		}, uid, "another name"},
		{"another's", func(t *testing.T, path string) { writeConfig(t, path, "{}") }, uid + 1, "another user"},
		{"everybody's", func(t *testing.T, path string) {
			writeConfig(t, path, "{}")
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
		}, uid, "others can change"},
		{"a folder", func(t *testing.T, path string) {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, uid, "is no file"},
		{"too long", func(t *testing.T, path string) { writeConfig(t, path, strings.Repeat(" ", maxConfigFile+1)) }, uid, "longer than"},
		{"in a folder that is a link", func(t *testing.T, path string) {
			real := filepath.Join(filepath.Dir(filepath.Dir(path)), "real")
			if err := os.Mkdir(real, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(real, filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
		}, uid, "is a symbolic link"},
		{"in everybody's folder", func(t *testing.T, path string) {
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
		}, uid, "so others may"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, store := placeOf(t, "claude", false)
			tt.make(t, p.path)
			if _, err := planInstall(p, store, testProgram, tt.uid); err == nil || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("%v, want %q", err, tt.why)
			}
		})
	}
}

// TestHookChangedMeanwhile: a change that the person confirmed is not made if the
// file has changed since.
func TestHookChangedMeanwhile(t *testing.T) {
	uid := uint32(os.Geteuid())
	p, store := placeOf(t, "claude", false)
	writeConfig(t, p.path, "{}")
	c, err := planInstall(p, store, testProgram, uid)
	if err != nil {
		t.Fatal(err)
	}
	writeConfig(t, p.path, `{"mine": 1}`)
	if err := c.apply(store, uid); err == nil || !strings.Contains(err.Error(), "in the meantime") {
		t.Errorf("applied: %v", err)
	}
	if got := read(t, p.path); string(got) != `{"mine": 1}` {
		t.Errorf("it became %q", got)
	}
}

// TestHookRecordOfAnother: a record that does not fit the file is not used.
func TestHookRecordOfAnother(t *testing.T) {
	uid := uint32(os.Geteuid())
	p, store := placeOf(t, "claude", false)
	writeConfig(t, p.path, `{"a": 1}`)
	c, err := planInstall(p, store, testProgram, uid)
	if err == nil {
		err = c.apply(store, uid)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(){
		"no backup": func() { _ = os.Remove(store.backup(p)) },
		"no JSON":   func() { writeConfig(t, store.file(p, ".json"), "{") },
	} {
		damage()
		undo, err := planUninstall(p, store, uid)
		if err != nil || string(undo.after) != `{"a": 1}` {
			t.Errorf("%s: %q, %v", name, undo.after, err)
		}
	}
}

// TestHookTwoFolders: the record of a harness in one folder is not used for it in
// another.
func TestHookTwoFolders(t *testing.T) {
	uid := uint32(os.Geteuid())
	first, store := placeOf(t, "claude", false)
	second := *first
	second.path = filepath.Join(filepath.Dir(filepath.Dir(first.path)), "work", "settings.json")
	texts := map[*configPlace]string{first: "{\"a\":  1}", &second: "{\"b\":  2}"}
	for _, p := range []*configPlace{first, &second} {
		writeConfig(t, p.path, texts[p])
		c, err := planInstall(p, store, testProgram, uid)
		if err == nil {
			err = c.apply(store, uid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*configPlace{first, &second} {
		if record, before := store.load(p); record == nil || string(before) != texts[p] {
			t.Errorf("%s: the backup is %q", p.path, before)
		}
		c, err := planUninstall(p, store, uid)
		if err == nil {
			err = c.apply(store, uid)
		}
		if err != nil || string(read(t, p.path)) != texts[p] {
			t.Errorf("%s: %v, %s", p.path, err, read(t, p.path))
		}
	}
	if list, err := os.ReadDir(store.dir); len(list) > 0 {
		t.Errorf("%v is left, %v", list, err)
	}
}

// TestHookMixedLines: only added lines get new line ends.
func TestHookMixedLines(t *testing.T) {
	p, _ := placeOf(t, "codex", false)
	const text = "a = 1\r\nb = 2\nc = \"\"\"x\ny\r\nz\"\"\"\n"
	got, err := p.edit.install([]byte(text), testProgram)
	if err != nil || !strings.HasPrefix(string(got), text) || !strings.Contains(string(got), tomlBegin+"\r\n[[hooks") {
		t.Errorf("%v, %q", err, got)
	}
	if rest, _, err := p.edit.remove(got); err != nil || string(rest) != text {
		t.Errorf("%v, %q", err, rest)
	}
}

// TestHookManaged: the organisation's settings also turn hooks on, which a person's
// own cannot change.
func TestHookManaged(t *testing.T) {
	for _, tt := range []struct{ name, harness, text, want string }{
		{"gemini", "gemini", "", `"enabled": true`},
		{"gemini, beside others", "gemini", `{"hooksConfig": {"notifications": false}}`, `"enabled": true`},
		{"codex", "codex", "", "[features]\nhooks = true\n"},
		{"codex, beside others", "codex", "[ features ] # ours\nweb = true\n", "[ features ] # ours\nhooks = true # permd hook codex\nweb = true\n"},
		{"codex, as it is", "codex", "[features]\nhooks = true\n", "[features]\nhooks = true\n\n" + tomlBegin},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := placeOf(t, tt.harness, true)
			got, err := p.edit.install([]byte(tt.text), testProgram)
			if err != nil || !strings.Contains(string(got), tt.want) {
				t.Errorf("no %q: %v\n%s", tt.want, err, got)
			}
		})
	}
	p, _ := placeOf(t, "codex", true)
	if got, err := p.edit.install([]byte("features.web = true\n"), testProgram); err == nil {
		t.Errorf("hooks were not turned on: %s", got)
	}
}

// TestClineFile: whatever permd does, Cline gets an answer, which allows only if
// permd allowed and exited with status 0.
func TestClineFile(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "permd of mine")
	script := filepath.Join(dir, "PreToolUse")
	if err := os.WriteFile(script, clineFile(program, hookOptions{}), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, program, want string }{
		{"yes", "#!/bin/sh\n[ \"$*\" = 'hook cline' ] && echo '{\"cancel\":false}'", "{\"cancel\":false}\n"},
		{"silence", "#!/bin/sh\n", ""},
		{"a yes, and a failure", "#!/bin/sh\necho '{\"cancel\":false}'\nexit 2", ""},
		{"killed", "#!/bin/sh\necho '{\"cancel\":false}'\nkill -9 $$", ""},
		{"no program", "not a program", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(program, []byte(tt.program+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(script).Output()
			if err != nil {
				t.Fatal(err)
			}
			if tt.want != "" && string(out) != tt.want || tt.want == "" && !strings.HasPrefix(string(out), `{"cancel":true,`) {
				t.Errorf("%q", out)
			}
		})
	}
}
