package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
)

// TestUninstallOrder: where permd cannot be taken out of a harness after all, the units of
// the daemon that its hook asks are still there.
func TestUninstallOrder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	program := filepath.Join(home, "permd")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings, unit := filepath.Join(home, ".claude", "settings.json"), filepath.Join(home, ".config", "systemd", "user", "permd.service")
	writeFile(t, settings, "{}")
	var out, errs bytes.Buffer
	if code := run([]string{"hook", "install", "claude", "--exec", program, "--yes"}, strings.NewReader(""), &out, &errs); code != cli.ExitOK {
		t.Fatalf("%s%s", &out, &errs)
	}
	a := &app{Streams: cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}}
	dirs, err := account.OwnDirs("")
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.planUninstall(t.Context(), dirs, uninstallOptions{})
	if err != nil || len(r.Places) != 1 || len(r.Units) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	// The harness writes its settings while the person is asked.
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, settings, string(text)+"{")
	if err := a.remove(dirs, r); err == nil || !strings.Contains(err.Error(), "the units of the daemon were not removed") {
		t.Errorf("it says %v", err)
	}
	if _, err := os.Lstat(unit); err != nil {
		t.Errorf("the unit is gone: %v", err)
	}
	writeFile(t, settings, string(text))
	if err := a.remove(dirs, r); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(unit); err == nil {
		t.Error("the unit is still there")
	}
}
