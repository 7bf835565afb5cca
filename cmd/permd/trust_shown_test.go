package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestTrustShown: of each entry permd trust shows whether the call that it names is allowed once the
// list is trusted, the daemon then decides the same of that call, and to show it is no decision of the
// log.
func TestTrustShown(t *testing.T) {
	t.Parallel()
	const rules = `allow:
  run: [make check, "make *", timeout 60 frob z, env CI=1 frob z, sudo make check, git push -f, "git push *", frob x, frob --own, "npm run *", "go *", make denied, make asked, make rejected, "sh -c 'make check'", ./tool x, go generate]
  read: ["./docs/**", ./.env, "./linked/*"]
  write: ["./src/**", "./linked/**", "./src/*.go", ./.github/workflows/ci.yml, ./.permd/rules.yaml]
  delete: ["./src/**", ./.git/config]
  connect: [x.example.com, "*.y.example.com:8080", "ssh://z.example.com", 169.254.169.254]
`
	want := map[string]string{ // the entries that are allowed, and why others are not
		"run make check": "", "run make *": "", "run frob x": "", "run frob --own": "", "run git push *": "", "run npm run *": "", "run ./tool x": "", "run go *": "",
		"run timeout 60 frob z": "does not know", "run env CI=1 frob z": "does not know", "run sudo make check": "another user", "run git push -f": "may overwrite",
		"run sh -c 'make check'": "", "run go generate": "not understood",
		"run make denied": "listed under deny run", "run make asked": "listed under ask run", "run make rejected": "remembered",
		"read ./docs/**": "", "read ./.env": "guarded", "write ./src/**": "", "write ./src/*.go": "", "write ./linked/**": "", "read ./linked/*": "", "write ./.github/workflows/ci.yml": "guarded",
		"write ./.permd/rules.yaml": "permd's own files", "delete ./src/**": "", "delete ./.git/config": "guarded",
		"connect x.example.com": "", "connect *.y.example.com:8080": "", "connect ssh://z.example.com": "downloads", "connect 169.254.169.254": "metadata",
	}
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "deny:\n  run: [make denied]\nask:\n  run: [make asked]\n")
	d.start(t)
	project := d.project(t, map[string]string{
		"Makefile": "check denied asked rejected:\n\ttrue\n", "package.json": `{"scripts": {"x": "true"}}`, "tool": "#!/bin/sh\n", "go.mod": "module x\n\ngo 1.25\n",
		".permd/rules.yaml": rules, "docs/x": "", "src/x": "", ".env": "", ".git/config": "", ".github/workflows/ci.yml": "",
	})
	// A link of the name that is tried first hides nothing of what an entry allows.
	if err := errors.Join(os.Mkdir(filepath.Join(project, "linked"), 0o700), os.Symlink("../.env", filepath.Join(project, "linked", "x"))); err != nil {
		t.Fatal(err)
	}
	d.permd(t, "remember", "add", "--reject", "run", "make rejected", "--dir", project)
	before := len(d.recordsThat(t, decisions.RecordFilter{}))
	shows := func() (shown []shownEntry, text string) {
		t.Helper()
		var p struct{ Allows, Asks, Untried []shownEntry }
		if err := json.Unmarshal([]byte(d.permd(t, "trust", "--show", "--json", project)), &p); err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Allows {
			if e.Verdict != "allow" {
				t.Errorf("%+v is among what is allowed", e)
			}
		}
		if len(p.Allows) == 0 || len(p.Untried) > 0 || len(p.Allows)+len(p.Asks) != len(want) {
			t.Errorf("%d are allowed, %d ask, %d are not tried; the list has %d", len(p.Allows), len(p.Asks), len(p.Untried), len(want))
		}
		return append(p.Allows, p.Asks...), d.permd(t, "trust", "--show", project)
	}
	shown, text := shows()
	t.Log(text)
	if now := len(d.recordsThat(t, decisions.RecordFilter{})); now != before {
		t.Errorf("the log has %d records, not %d", now, before)
	}
	if got := d.session(t, project).ask(t, decideLine("frob x")); got.Verdict != "ask" {
		t.Errorf("after it was shown, a call is decided %+v", got)
	}
	d.permd(t, "trust", "--yes", project)
	for _, e := range shown {
		why, known := want[e.Kind+" "+e.Line]
		if !known || (why == "") != (e.Verdict == "allow") || !strings.Contains(e.Reason, why) {
			t.Errorf("%s %s is shown as %s: %s; want %q", e.Kind, e.Line, e.Verdict, e.Reason, why)
		}
		got := d.session(t, project).ask(t, toolLine(e.Call.Tool, e.Call.Input))
		if got.Verdict != e.Verdict || got.Reason != e.Reason {
			t.Errorf("%s %s is shown as %s: %s, and %s %s is then decided %+v", e.Kind, e.Line, e.Verdict, e.Reason, e.Call.Tool, e.Call.Input, got)
		}
	}
	if again, _ := shows(); len(again) != len(shown) {
		t.Errorf("trusted, %d entries are shown", len(again))
	}
}

// shownEntry is an entry in the output of permd trust --show --json.
type shownEntry struct {
	Kind, Line, Verdict, Reason string
	Call                        struct {
		Tool  string
		Input json.RawMessage
	}
}
