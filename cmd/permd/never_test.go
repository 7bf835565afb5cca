package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/admin"
)

// neverAsks are calls that ask, with a call that only a wider no of each denies, "" for none.
var neverAsks = []struct{ command, like string }{
	{"frob build --fast", "frob build"},
	{"curl -X POST https://api.example.com/v1/one", ""},
	{"rm gone.txt", ""},
	{"sh run.sh never", ""},
	{"frob $UNKNOWN", ""},
	{"frob --token=ghp_0123456789abcdefghijABCDEFGHIJ012345", ""},
}

// TestNever: a no to a question that waits is remembered with each of its widths, in a sample of the scopes.
// What is stored is what the width was labelled with, it denies the call from then on, and an
// undo takes it back.
func TestNever(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it answers with each width; TestNeverHook is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.write("run.sh", "echo 1\n")
	l.write("gone.txt", "1\n")
	l.session(l.project, "default")
	ask := func(command string) string {
		t.Helper()
		return l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", command, 1)))
	}
	verdict := func(command string) string {
		t.Helper()
		said, err := l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", command, 1))
		_, rest, ok := strings.Cut(said, `"verdict":"`)
		if err != nil || !ok {
			t.Fatalf("%s: %s %v", command, said, err)
		}
		v, _, _ := strings.Cut(rest, `"`)
		return v
	}
	wider := 0
	for _, c := range neverAsks {
		id := ask(c.command)
		got := l.waits(id)
		q := l.open()[0]
		if len(q.RejectWidths) == 0 {
			t.Fatalf("%s cannot be rejected: %+v", c.command, q)
		}
		d.permd(t, "deny", id)
		<-got
		for i, w := range q.RejectWidths {
			for _, scope := range testload.Sample(t, 1, []string{"", "session", "project", "user"}) {
				id := ask(c.command)
				got := l.waits(id)
				if out, err := d.command("deny", id, "--width", "r9").CombinedOutput(); err == nil || !strings.Contains(string(out), "there are: r1") {
					t.Fatalf("a width that there is not: %v %s", err, out)
				}
				args := []string{"deny", id, "--width", w.ID, "--for", "8h"}
				if scope != "" {
					args = append(args, "--scope", scope)
				}
				out, errs, code := printed(d.command(args...))
				if a := <-got; code != 0 || a.err != nil || a.Answer != "deny" {
					t.Fatalf("permd %q: %d %s%s; the client hears %+v", args, code, out, errs, a)
				}
				list := d.choices(t)
				if len(list) != 1 || list[0].Verdict != "deny" || list[0].Expires.IsZero() || scope != "" && list[0].Scope != scope || scope == "" && list[0].Scope != w.Scope {
					t.Fatalf("permd %q: remembered %+v", args, list)
				}
				if scope == "" {
					if label := labelOf(&list[0]); label != w.Label {
						t.Errorf("permd %q stores %q, and is labelled %q", args, label, w.Label)
					}
				}
				said := strings.Join(strings.Fields(out), " ")
				for line := range strings.Lines(labelOf(&list[0])) {
					if line = strings.Join(strings.Fields(line), " "); !strings.Contains(said, line) {
						t.Errorf("permd %q stores %q, and says %s", args, line, out)
					}
				}
				if got := verdict(c.command); got != "deny" {
					t.Errorf("after permd %q: %s is %s", args, c.command, got)
				}
				if c.like != "" {
					if want, got := map[bool]string{false: "ask", true: "deny"}[i > 0], verdict(c.like); got != want {
						t.Errorf("after permd %q: %s is %s, want %s", args, c.like, got, want)
					}
				}
				_, undo, _ := strings.Cut(errs, "permd remember undo ")
				if undo == "" {
					t.Fatalf("permd %q does not say how to undo it: %s", args, errs)
				}
				d.permd(t, "remember", "undo", strings.TrimSpace(undo))
				if got := verdict(c.command); got != "ask" {
					t.Errorf("taken back: %s is %s", c.command, got)
				}
			}
		}
		wider += len(q.RejectWidths) - 1
	}
	if wider == 0 {
		t.Error("no call has a wider no")
	}
	id := ask("frob x")
	got := l.waits(id)
	for _, args := range [][]string{{"--scope", "user"}, {"--for", "8h"}, {"--width", "r1", "--for", "0s"}, {"--width", "r1", "--scope", "org"}, {"--width", "w1"}} {
		if out, errs, code := printed(d.command(append([]string{"deny", id}, args...)...)); code == 0 || out != "" {
			t.Errorf("permd deny %q: %d %s%s", args, code, out, errs)
		}
	}
	if len(d.choices(t)) != 0 || len(got) != 0 {
		t.Errorf("an answer that was refused has answered: %+v", d.choices(t))
	}
}

// labelOf is a choice as StoredChoice has it.
func labelOf(c *admin.Choice) string {
	label := c.Kind + " " + c.Rule
	if len(c.Parts) > 1 {
		label = c.Rule
	}
	if slices.Contains(c.Pins, admin.MoreOptions) {
		label += " (" + admin.MoreOptions + ")"
	}
	return label
}

// TestNeverHook: a question that a harness has blocked is answered with a no that is remembered,
// and the next try is denied.
func TestNeverHook(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	const command = "curl -X POST https://api.example.com/v1"
	d.blocks(t, project, command)
	id := d.waiting(t, 1)[0]
	list := d.permd(t, "allow")
	if !strings.Contains(list, "--width r1  never: ") {
		t.Errorf("permd allow lists\n%s", list)
	}
	if out := d.permd(t, "deny", id, "--width", "r1"); !strings.HasPrefix(out, "denied\nremembered: deny ") {
		t.Errorf("permd deny says %s", out)
	}
	d.waiting(t, 0)
	d.blocks(t, project, command)
	eventually.Holds(t, "the next try is logged", func() bool { return len(d.records(t)) == 2 })
	r := d.records(t)
	if got := r[1].Decision; got.Verdict != "deny" || got.By != "memory" || r[0].Answer == nil || r[0].Answer.Verdict != "deny" || len(r[0].Answer.Choices) != 1 {
		t.Errorf("the next try: %s by %s; the answer to the first: %+v", got.Verdict, got.By, r[0].Answer)
	}
}
