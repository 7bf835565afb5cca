package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
)

// TestWiderThanItsUse: a choice that is wider than all that it was used for says so, with the
// command that narrows it; other uses end that, and so does a log that does not have them.
func TestWiderThanItsUse(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"a/a.go": "package a\n", "b/b.go": "package b\n"})
	p := d.asks(t, project)
	add := func(args ...string) string {
		return strings.Fields(d.permd(t, append(append([]string{"remember", "add"}, args...), "--dir", project)...))[0]
	}
	vet, hosts, gone := add("run", "go vet *"), add("connect", "*.example.com"), add("run", "grob *")
	shown := func(id string) *admin.UsedFor {
		t.Helper()
		var got admin.Choices
		if err := d.manage(t, admin.MethodChoicesShow, map[string]any{"choiceIds": []string{id}}, &got); err != nil {
			t.Fatal(err)
		}
		return got.Choices[0].UsedFor
	}
	is := func(id, line string, uses int) {
		t.Helper()
		eventually.Holds(t, fmt.Sprintf("%s was used %d times for %q", id, uses, line), func() bool {
			u := shown(id)
			return u == nil && line == "" || u != nil && u.Line == line && u.Seen == uses
		})
	}
	for _, command := range []string{"go vet ./a", "go vet ./a", "curl https://api.example.com/a", "curl https://api.example.com/b"} {
		p.bash(command)
	}
	is(vet, "", 0)
	for _, command := range []string{"go vet ./a", "curl https://api.example.com/c"} {
		p.bash(command)
	}
	is(vet, "go vet ./a", 3)
	is(hosts, "api.example.com", 3)
	is(gone, "", 0)
	out := d.permd(t, "remember", "show", vet)
	for _, want := range []string{"used for go vet ./a only, in the last 3 uses", "permd remember change " + vet + " --line 'go vet ./a'"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if out := d.permd(t, "remember", "list", "--wider"); !strings.Contains(out, vet) || !strings.Contains(out, hosts) || strings.Contains(out, gone) {
		t.Errorf("--wider lists\n%s", out)
	}
	p.bash("go vet ./b")
	is(vet, "", 0)
	if out := d.permd(t, "remember", "list"); strings.Contains(out, "used for go vet") || !strings.Contains(out, "used for api.example.com only") {
		t.Errorf("the list is\n%s", out)
	}
	// The command narrows it.
	d.permd(t, "remember", "change", hosts, "--line", "api.example.com")
	if out := d.permd(t, "remember", "list", "--wider"); !strings.Contains(out, "no choice matches") {
		t.Errorf("--wider lists\n%s", out)
	}
}
