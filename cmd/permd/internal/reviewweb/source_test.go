package reviewweb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSource: the text of a rule is shown, and no other file, whatever a record names.
func TestSource(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lines := strings.Repeat("line\n", 9)
	rules, other := write("rules.yaml", lines+"here\n"+lines), write("secret", "KEY=1\n")
	got := sourceOf(rules + ":10")
	if len(got) != 2*sourceAround+1 || got[sourceAround] != (sourceLine{10, "here", true}) {
		t.Errorf("%+v", got)
	}
	if got := sourceOf("base/allow.rego:18"); len(got) == 0 {
		t.Error("a rule of base has no text")
	}
	long := write("long.rego", strings.Repeat("x\n", maxSource))
	if got := sourceOf(long + ":1"); len(got) != sourceAround+1 {
		t.Errorf("of a long file: %d lines", len(got))
	}
	link, linked := filepath.Join(folder, "link.yaml"), filepath.Join(folder, "linked")
	if err := errors.Join(os.Symlink(other, link), os.Symlink(folder, linked)); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{link + ":1", filepath.Join(linked, "rules.yaml") + ":10", other + ":1", rules, rules + ":0", rules + ":x", rules + ":1000", folder + ":1", "rules.yaml:1", "/dev/zero:1", "../../rules.yaml:1", "", ":", "base/../base/allow.rego:18"} {
		if got := sourceOf(at); got != nil {
			t.Errorf("%q shows %+v", at, got)
		}
	}
}

// TestIdle: serving ends when nothing was asked for long, and not before.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Server{used: time.Now()}
		began := time.Now()
		go func() {
			time.Sleep(idleLimit - time.Minute)
			s.mu.Lock()
			s.used = time.Now()
			s.mu.Unlock()
		}()
		s.waitIdle(t.Context())
		if took := time.Since(began); took != 2*idleLimit-time.Minute {
			t.Errorf("it ended after %s", took)
		}
	})
}

// TestColumns: each day has its verdicts one on the other, as high as they are many.
func TestColumns(t *testing.T) {
	t.Parallel()
	c := newColumns([]day{{Allow: 1, Ask: 2, Deny: 1}, {}, {Allow: 2}})
	want := []rect{
		{"b-deny", "3.333%", "75.000%", "26.667%", "25.000%"}, {"b-ask", "3.333%", "25.000%", "26.667%", "50.000%"}, {"b-allow", "3.333%", "0.000%", "26.667%", "25.000%"},
		{"b-allow", "70.000%", "50.000%", "26.667%", "50.000%"},
	}
	if c.Top != 4 || len(c.Rects) != len(want) {
		t.Fatalf("%+v", c)
	}
	for i := range want {
		if c.Rects[i] != want[i] {
			t.Errorf("%+v, not %+v", c.Rects[i], want[i])
		}
	}
}
