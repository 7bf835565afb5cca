package pause

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
)

// world is a machine with clocks that a test sets.
type world struct {
	now     time.Time
	start   string
	since   time.Duration
	broken  error
	noPause bool
	noLock  bool
	path    string
}

func newWorld(t *testing.T) *world {
	return &world{now: time.Unix(1_700_000_000, 0).UTC(), start: "first", since: time.Hour, path: filepath.Join(t.TempDir(), "pause")}
}

func (w *world) open() *Store {
	return Open(Options{
		Path: w.path, Now: func() time.Time { return w.now },
		Uptime:    func() (string, time.Duration, error) { return w.start, w.since, w.broken },
		Forbidden: func() (bool, bool) { return w.noPause, w.noLock },
	})
}

// pass lets time go by on both clocks.
func (w *world) pass(d time.Duration) { w.now, w.since = w.now.Add(d), w.since+d }

func logged(*Setting) error { return nil }

func refused(err error) bool {
	_, ok := errors.AsType[Refusal](err)
	return ok
}

func begin(t *testing.T, s *Store, v Setting) {
	t.Helper()
	if _, err := s.Set(v, logged); err != nil {
		t.Fatal(err)
	}
}

// TestEnd: a pause ends with the clock that shows more time, and no clock lengthens it.
func TestEnd(t *testing.T) {
	const twenty = 20 * time.Minute
	tests := []struct {
		name  string
		after func(w *world)
		left  time.Duration
	}{
		{"at once", func(*world) {}, twenty},
		{"some minutes", func(w *world) { w.pass(5 * time.Minute) }, 15 * time.Minute},
		{"the last moment", func(w *world) { w.pass(twenty - 1) }, 1},
		{"its end", func(w *world) { w.pass(twenty) }, 0},
		{"long after", func(w *world) { w.pass(100 * time.Hour) }, 0},
		{"the clock was set back", func(w *world) { w.pass(5 * time.Minute); w.now = w.now.Add(-time.Hour) }, 15 * time.Minute},
		{"the clock was set back, its end", func(w *world) { w.pass(twenty); w.now = w.now.Add(-time.Hour) }, 0},
		{"the clock was set forward", func(w *world) { w.now = w.now.Add(time.Hour) }, 0},
		{"the machine slept", func(w *world) { w.pass(time.Hour) }, 0},
		{"the machine slept, its clock was late", func(w *world) { w.since += time.Hour }, 0},
		{"the machine was started again", func(w *world) { w.start, w.since = "second", time.Minute; w.now = w.now.Add(time.Minute) }, 0},
		{"the clock of the machine ran back", func(w *world) { w.since -= time.Minute }, 0},
		{"the clock of the machine is gone", func(w *world) { w.broken = errors.New("none") }, 0},
		{"org forbids it", func(w *world) { w.noPause = true }, 0},
		{"org forbids locks", func(w *world) { w.noLock = true }, twenty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			s := w.open()
			begin(t, s, Setting{UID: 7, For: twenty, Project: "/p", Only: []decisions.Activity{decisions.Edits}, Why: "because"})
			tt.after(w)
			var want *decisions.Pause
			if tt.left > 0 {
				want = &decisions.Pause{Project: "/p", Only: []decisions.Activity{decisions.Edits}, Left: tt.left}
			}
			for name, s := range map[string]*Store{"running": s, "started again": w.open()} {
				if diff := cmp.Diff(want, s.Of(7)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				if s.Of(8) != nil {
					t.Errorf("%s: another person is paused", name)
				}
			}
		})
	}
}

// TestEnded: what has ended, by itself, by a person or by a lock, does not come back.
func TestEnded(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	begin(t, s, Setting{UID: 7, For: time.Hour})
	w.now = w.now.Add(2 * time.Hour)
	over, err := s.Expired()
	if err != nil || len(over) != 1 || over[0].UID != 7 {
		t.Fatalf("over are %+v, %v", over, err)
	}
	w.now = w.now.Add(-2 * time.Hour)
	if s.Of(7) != nil || w.open().Of(7) != nil {
		t.Error("a clock that was set forward and back again revives a pause")
	}
	if _, err := os.Stat(w.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}

	begin(t, s, Setting{UID: 7, For: time.Hour})
	if was, ended, err := s.End(7, false); !ended || err != nil || was.For != time.Hour {
		t.Errorf("ended %+v, %v, %v", was, ended, err)
	}
	if s.Of(7) != nil || w.open().Of(7) != nil {
		t.Error("resumed, and paused still")
	}
	if _, ended, err := s.End(7, false); ended || err != nil {
		t.Errorf("ended twice: %v, %v", ended, err)
	}

	begin(t, s, Setting{UID: 7, For: time.Hour})
	begin(t, s, Setting{UID: 7, Locked: true})
	if _, err := s.Set(Setting{UID: 7, For: time.Hour}, logged); !refused(err) {
		t.Errorf("paused while locked: %v", err)
	}
	if _, ended, _ := s.End(7, false); ended {
		t.Error("permd resume unlocks")
	}
	for _, s := range []*Store{s, w.open()} {
		if p := s.Of(7); p == nil || !p.Locked {
			t.Errorf("locked: %+v", p)
		}
	}
	if _, ended, err := s.End(7, true); !ended || err != nil {
		t.Errorf("unlocked: %v, %v", ended, err)
	}
	if s.Of(7) != nil || w.open().Of(7) != nil {
		t.Error("the pause before the lock is back")
	}
	begin(t, s, Setting{UID: 7, Locked: true})
	if w.noLock = true; s.Of(7) != nil {
		t.Error("org forbids locks, and it is locked")
	}
}

// TestRefused: what cannot be set changes nothing.
func TestRefused(t *testing.T) {
	tests := map[string]struct {
		v   Setting
		set func(*world)
	}{
		"too long":                  {v: Setting{For: Max + 1}},
		"no time":                   {},
		"less than no time":         {v: Setting{For: -time.Hour}},
		"an unknown kind of work":   {v: Setting{For: time.Hour, Only: []decisions.Activity{"deploys"}}},
		"no kind of work":           {v: Setting{For: time.Hour, Only: []decisions.Activity{}}},
		"a kind and the unknown":    {v: Setting{For: time.Hour, Only: []decisions.Activity{decisions.Edits}, Unknown: true}},
		"a reason of two lines":     {v: Setting{For: time.Hour, Why: "a\nb"}},
		"a reason that hides text":  {v: Setting{For: time.Hour, Why: "a\u202eb"}},
		"a reason that is no UTF-8": {v: Setting{For: time.Hour, Why: "\xff"}},
		"a long reason":             {v: Setting{For: time.Hour, Why: strings.Repeat("a", maxWhy+1)}},
		"pauses are forbidden":      {v: Setting{For: time.Hour}, set: func(w *world) { w.noPause = true }},
		"locks are forbidden":       {v: Setting{Locked: true}, set: func(w *world) { w.noLock = true }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tt.set != nil {
				tt.set(w)
			}
			s := w.open()
			_, err := s.Set(tt.v, func(*Setting) error { t.Error("it was logged"); return nil })
			if !refused(err) || s.Of(0) != nil || w.open().Of(0) != nil {
				t.Errorf("error %v, in force %+v", err, s.Of(0))
			}
		})
	}
}

// TestNotStored: a pause that cannot be logged or stored does not begin; a lock does.
func TestNotStored(t *testing.T) {
	full := errors.New("full")
	for name, tt := range map[string]struct {
		record func(*Setting) error
		break_ func(w *world)
	}{
		"not logged": {func(*Setting) error { return full }, func(*world) {}},
		"no folder":  {logged, func(w *world) { w.path = filepath.Join(w.path, "none", "pause") }},
		"no clock":   {logged, func(w *world) { w.broken = full }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tt.break_(w)
			s := w.open()
			if _, err := s.Set(Setting{For: time.Hour}, tt.record); err == nil || s.Of(0) != nil || w.open().Of(0) != nil {
				t.Errorf("paused: %v, %+v", err, s.Of(0))
			}
			_, err := s.Set(Setting{Locked: true}, tt.record)
			if p := s.Of(0); p == nil || !p.Locked || (err == nil) != (name == "no clock") {
				t.Errorf("locked: %v, %+v", err, p)
			}
		})
	}
	t.Run("not ended in the file", func(t *testing.T) {
		w := newWorld(t)
		s := w.open()
		begin(t, s, Setting{For: time.Hour})
		if err := os.Remove(w.path); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(w.path, "x"), 0o700); err != nil { // it cannot be removed
			t.Fatal(err)
		}
		if _, ended, err := s.End(0, false); !ended || err == nil || s.Of(0) != nil {
			t.Errorf("ended %v, %v, in force %+v", ended, err, s.Of(0))
		}
	})
}

// TestDamaged: a file that was changed in any byte, cut off, or is no file of permd's pauses
// nothing and locks, also after a restart, until a person unlocks it; the file is kept.
func TestDamaged(t *testing.T) {
	w := newWorld(t)
	begin(t, w.open(), Setting{UID: 7, For: time.Hour})
	good, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(w.path); info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v", info.Mode())
	}
	bad := map[string][]byte{"empty": {}, "longer": append(bytes.Clone(good), ' '), "of a newer permd": bytes.Replace(good, []byte("pause 1"), []byte("pause 2"), 1)}
	for i := range good {
		changed := bytes.Clone(good)
		changed[i] ^= 1
		bad[string(rune('0'+i%10))+"th byte of "+string(good[:i])] = changed
		bad["cut at "+string(good[:i])] = good[:i]
	}
	forged := []string{
		`{"settings":[{"uid":7,"since":"2023-11-14T22:13:20Z","forNs":999999999999999,"start":"first"}]}`,
		`{"settings":[{"uid":7,"since":"2023-11-14T22:13:20Z","forNs":60000000000}]}`,
		`{"settings":[{"uid":7,"since":"2023-11-14T22:13:20Z","forNs":60000000000,"start":"first","uptimeNs":-1}]}`,
		`{"settings":[{"uid":7,"since":"2023-11-14T22:13:20Z","forNs":60000000000,"start":"first","only":["all"]}]}`,
	}
	for _, body := range forged {
		bad[body] = []byte(firstLine([]byte(body)) + "\n" + body)
	}
	for name, data := range bad {
		if err := os.WriteFile(w.path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if p := w.open().Of(7); p == nil || !p.Locked {
			t.Fatalf("%q: in force is %+v", name, p)
		}
	}
	s := w.open()
	if _, damage := s.Status(); !strings.Contains(damage, w.path) {
		t.Errorf("the damage is %q", damage)
	}
	if _, err := s.Set(Setting{UID: 7, For: time.Hour}, logged); !refused(err) {
		t.Errorf("paused: %v", err)
	}
	if _, ended, err := s.End(7, true); !ended || err != nil || s.Of(7) != nil || w.open().Of(7) != nil {
		t.Errorf("unlocked: %v, %v", ended, err)
	}
	if _, err := os.Stat(w.path + ".damaged"); err != nil {
		t.Error(err)
	}
	for name, make := range map[string]func() error{
		"others may write it": func() error { return errors.Join(os.WriteFile(w.path, good, 0o600), os.Chmod(w.path, 0o622)) },
		"a link": func() error {
			return errors.Join(os.WriteFile(w.path+".other", good, 0o600), os.Remove(w.path), os.Symlink(w.path+".other", w.path))
		},
		"a folder": func() error { return errors.Join(os.Remove(w.path), os.Mkdir(w.path, 0o700)) },
	} {
		_ = os.Remove(w.path)
		_ = os.WriteFile(w.path, good, 0o600)
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if p := w.open().Of(7); p == nil || !p.Locked {
			t.Errorf("%s: in force is %+v", name, p)
		}
	}
}

// TestUptime: the clock of this machine runs, and its start has a name.
func TestUptime(t *testing.T) {
	start, first, err := uptime()
	again, second, err2 := uptime()
	if err != nil || err2 != nil || start == "" || start != again || first <= 0 || second < first {
		t.Errorf("%q %v %v, %q %v %v", start, first, err, again, second, err2)
	}
}

// TestNothingInForce: asking costs no memory while nothing is in force.
func TestNothingInForce(t *testing.T) {
	s := newWorld(t).open()
	if n := testing.AllocsPerRun(100, func() { s.Of(7) }); n != 0 || s.Of(7) != nil {
		t.Errorf("%v allocations", n)
	}
}
