//go:build cgo && linux

package remember_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/remember"
)

// copyOf returns a copy of the memory as a crash at this moment would leave it.
func copyOf(t *testing.T, o remember.Options) remember.Options {
	t.Helper()
	c := options(path(t))
	for _, suffix := range []string{"", "-wal", ".revoked"} {
		data, err := os.ReadFile(o.Path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.Path+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestDamagedLog damages the write-ahead log of a memory that was not closed.
// SQLite silently drops its end: only allows may be lost that way.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	draft := func(v decisions.Verdict, target string) remember.Draft {
		return remember.Draft{Verdict: v, Query: ask(run("mytool", target)), Scope: remember.ForUser}
	}
	revoked := save(t, s, draft(decisions.Allow, "revoked"))
	save(t, s, draft(decisions.Allow, "early"))
	if _, err := s.Forget(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	save(t, s, draft(decisions.Deny, "reject"))
	save(t, s, draft(decisions.Allow, "late"))
	crashed := copyOf(t, o)
	log, err := os.ReadFile(crashed.Path + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatalf("nothing to damage: %d bytes, %v", len(log), err)
	}
	for name, damaged := range map[string][]byte{
		"as it is":      log,
		"header":        append(bytes.Repeat([]byte{0x55}, 32), log[32:]...),
		"first frame":   append(append(bytes.Clone(log[:32+24]), bytes.Repeat([]byte{0x55}, 100)...), log[32+24+100:]...),
		"one bit":       flip(log, len(log)/2),
		"last bit":      flip(log, len(log)-1),
		"half":          log[:len(log)/2],
		"nothing left":  {},
		"all noise":     bytes.Repeat([]byte("noise\x00"), len(log)/6),
		"of a stranger": append(bytes.Clone(log[:16]), bytes.Repeat([]byte{1}, len(log)-16)...),
	} {
		t.Run(name, func(t *testing.T) {
			o := copyOf(t, crashed)
			if err := os.WriteFile(o.Path+"-wal", damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, o)
			if got := said(t, s, ask(run("mytool", "revoked"))); got != "" {
				t.Errorf("the revoked choice says %q", got)
			}
			if got := said(t, s, ask(run("mytool", "reject"))); got != "deny" {
				t.Errorf("the reject says %q", got)
			}
			if got := said(t, s, ask(run("mytool", "late"))); got == "" && name == "as it is" {
				t.Error("the newest choice is lost")
			}
			save(t, s, draft(decisions.Allow, "then"))
		})
	}
}

func flip(data []byte, at int) []byte {
	c := bytes.Clone(data)
	c[at] ^= 1
	return c
}

// TestCutDatabase cuts the file at every page and in the middle of one. SQLite itself does
// not notice the latter if the last page belongs to the text of a row.
func TestCutDatabase(t *testing.T) {
	t.Parallel()
	for name, long := range map[string]int{"the last page in a tree": 1000, "the last page of a row": 3000, "rows of several pages": 6000} {
		t.Run(name, func(t *testing.T) { testCut(t, strings.Repeat("x", long)) })
	}
}

func testCut(t *testing.T, long string) {
	o := options(path(t))
	s := open(t, o)
	for _, target := range []string{"a", "b"} {
		save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("mytool", target)), Scope: remember.ForUser, DecisionID: long})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for size := 1; size < len(whole); size += 2048 {
		sizes = append(sizes, size)
	}
	for _, size := range testload.WithShort(t, len(sizes)/4, sizes) {
		o := options(path(t))
		if err := os.WriteFile(o.Path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, o)
		_, allow, err := s.Match(ask(run("mytool", "a")))
		if allow != nil || !errors.Is(err, remember.ErrOff) || len(s.Status().Degraded) == 0 {
			t.Errorf("cut to %d bytes: %v, %v, %+v", size, allow, err, s.Status())
		}
	}
}

// TestSelfCheck: if the database stores something else than was written, nothing is
// remembered, since it is not known what it would match.
func TestSelfCheck(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"another digest": "UPDATE choices SET digest = zeroblob(32) WHERE n = new.n",
		"another person": "UPDATE choices SET uid = 7 WHERE n = new.n",
		"another scope":  "UPDATE choices SET scope = 'session', scope_key = 'x' WHERE n = new.n",
		"over already":   "UPDATE choices SET expires = 1 WHERE n = new.n",
		"turned around":  "UPDATE choices SET verdict = 'deny' WHERE n = new.n",
		"revoked":        "UPDATE choices SET revoked = 1 WHERE n = new.n",
		"another pin":    `UPDATE choices SET pins = CAST('{"project":"/elsewhere"}' AS BLOB) WHERE n = new.n`,
		"unreadable":     "UPDATE choices SET pins = x'00' WHERE n = new.n",
	} {
		t.Run(name, func(t *testing.T) {
			o := options(path(t))
			s := open(t, o)
			before := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("ls")), Scope: remember.ForProject})
			change := "CREATE TRIGGER odd AFTER INSERT ON choices BEGIN " + change + "; END"
			execute(t, o.Path, change)
			q := ask(run("make"))
			_, err := s.Save(t.Context(),
				remember.Draft{Verdict: decisions.Allow, Query: q, Scope: remember.ForProject},
				remember.Draft{Verdict: decisions.Allow, Query: ask(run("wc")), Scope: remember.ForProject})
			if !errors.Is(err, remember.ErrSelfCheck) {
				t.Errorf("have %v, want %v", err, remember.ErrSelfCheck)
			}
			execute(t, o.Path, "DROP TRIGGER odd")
			if said(t, s, q) != "" || len(s.List(nil)) != 1 {
				t.Errorf("something was stored: %+v", s.List(nil))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if list := open(t, o).List(nil); len(list) != 1 || list[0].ID != before.ID {
				t.Errorf("after a restart: %+v", list)
			}
		})
	}
}
