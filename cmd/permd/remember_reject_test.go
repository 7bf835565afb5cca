package main

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestRememberReject: a remembered reject denies each effect that was asked about,
// alone and with others, and nothing else; one forget removes it.
func TestRememberReject(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a daemon and many processes; TestRemember is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	p := d.asks(t, d.project(t, map[string]string{"go.mod": "module canary\n"}))
	q := p.bash("ls && go build ./a && go vet ./a")
	kept := p.choose(q, map[string]any{"verdict": "deny", "scope": "project"}, "")
	if len(kept) != 1 || kept[0].Verdict != decisions.Deny || kept[0].Label != "run go build ./a\nrun go vet ./a (also with more options)" {
		t.Fatalf("stored %+v", kept)
	}
	for _, command := range []string{"ls && go build ./a && go vet ./a", "go build ./a", "go vet ./a || true"} {
		p.is(p.bash(command), decisions.Deny, decisions.ByMemory)
	}
	for _, command := range []string{"go build ./b", "go vet ./b"} {
		if got := p.bash(command); got.Verdict != decisions.Ask {
			t.Errorf("%s: %s", command, got.Verdict)
		}
	}
	p.is(p.bash("ls"), decisions.Allow, decisions.ByPolicy)
	list := d.permd(t, "remember", "list")
	p.is(p.bash("go build -v ./a"), decisions.Deny, decisions.ByMemory)
	for _, want := range []string{kept[0].ID, "go build ./a", "go vet ./a"} {
		if strings.Count(list, want) != 1 {
			t.Errorf("permd remember list has %q not once:\n%s", want, list)
		}
	}
	if show := d.permd(t, "remember", "show", kept[0].ID); !strings.Contains(show, "also with more options") {
		t.Errorf("what the lines leave open is not shown:\n%s", show)
	}
	export := d.permd(t, "remember", "export")
	out := d.permd(t, "remember", "forget", kept[0].ID)
	for _, want := range []string{"go build ./a", "go vet ./a"} {
		if !strings.Contains(export, "'"+want+"'") || !strings.Contains(out, "forgotten: deny run "+want+" ") {
			t.Errorf("export or what is forgotten lack %q:\n%s\n%s", want, export, out)
		}
	}
	if got := p.bash("go build ./a && go vet ./a"); got.Verdict != decisions.Ask {
		t.Errorf("forgotten: %s", got.Verdict)
	}

	// Options match in other spellings and positions.
	p.choose(p.bash("git push --force origin main"), map[string]any{"verdict": "deny", "scope": "user"}, "")
	p.is(p.bash("git push origin -f main"), decisions.Deny, decisions.ByMemory)
	if got := p.bash("git push origin main"); got.Verdict == decisions.Deny {
		t.Errorf("without the option: %s", got.Reason)
	}
}
