package trust

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "/home/u/shop"

var noted = func(*Pin) error { return nil }

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func opened(t testing.TB) (s *Store, dir string, c *clock) {
	t.Helper()
	c = &clock{time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)}
	dir = filepath.Join(t.TempDir(), "trust")
	return Open(dir, c.now), dir, c
}

func set(t testing.TB, s *Store, uid uint32, root, text string) *Pin {
	t.Helper()
	p, err := s.Set(uid, root, []byte(text), time.Hour, noted)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSet: a pin is of one person and one root, has an end, is there after a restart, is replaced, and
// is gone once it is revoked.
func TestSet(t *testing.T) {
	s, dir, c := opened(t)
	set(t, s, 1000, root, "one")
	set(t, s, 1001, root, "other")
	set(t, s, 1000, root, "two")
	for _, s := range []*Store{s, Open(dir, c.now)} {
		p := s.Of(1000, root)
		if p == nil || string(p.Text) != "two" || p.Digest != Digest([]byte("two")) || !p.In(c.at) {
			t.Fatalf("%+v", p)
		}
		if p.In(c.at.Add(time.Hour)) || p.In(c.at.Add(-time.Hour)) {
			t.Error("it is in force after its end, or long before its start")
		}
		if s.Of(1000, root+"/sub") != nil || s.Of(1002, root) != nil || s.Of(1000, "/home/u") != nil {
			t.Error("it is that of others too")
		}
		if len(s.List(1000)) != 1 || s.Damage() != nil {
			t.Errorf("%+v, %v", s.List(1000), s.Damage())
		}
	}
	info, err := os.Stat(filepath.Join(dir, nameOf(s.Of(1000, root))))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if was, err := s.Revoke(1000, root); err != nil || was == nil {
		t.Errorf("%v, %v", was, err)
	}
	for _, s := range []*Store{s, Open(dir, c.now)} {
		if s.Of(1000, root) != nil || s.Of(1001, root) == nil {
			t.Error("after a revocation of one")
		}
	}
	if was, err := s.Revoke(1000, root); err != nil || was != nil {
		t.Errorf("%v, %v", was, err)
	}
}

func TestRefused(t *testing.T) {
	s, dir, _ := opened(t)
	for name, tt := range map[string]struct {
		root  string
		text  []byte
		lasts time.Duration
	}{
		"for ever":    {root, nil, Max + 1},
		"for nothing": {root, nil, 0},
		"before":      {root, nil, -time.Hour},
		"relative":    {"shop", nil, time.Hour},
		"not clean":   {root + "/../x", nil, time.Hour},
		"everything":  {"/", nil, time.Hour},
		"a nul":       {root + "\x00", nil, time.Hour},
		"long":        {root, make([]byte, MaxText+1), time.Hour},
	} {
		if _, err := s.Set(1000, tt.root, tt.text, tt.lasts, noted); err == nil {
			t.Errorf("%s: no error", name)
		} else if _, ok := errors.AsType[Refusal](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range maxPins {
		set(t, s, 1000, root+strings.Repeat("x", i), "text")
	}
	if _, err := s.Set(1000, "/home/u/more", nil, time.Hour, noted); err == nil {
		t.Error("one more than there may be")
	}
	set(t, s, 1000, root, "again")
	if names, err := os.ReadDir(dir); err != nil || len(names) != maxPins {
		t.Errorf("%d files, %v", len(names), err)
	}
}

// TestSetFails: what is not recorded or not stored is not trusted, also after a restart.
func TestSetFails(t *testing.T) {
	s, dir, c := opened(t)
	if _, err := s.Set(1000, root, nil, time.Hour, func(*Pin) error { return errors.New("full") }); err == nil {
		t.Error("not recorded: no error")
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // in the place of the folder
		t.Fatal(err)
	}
	if _, err := s.Set(1000, root, nil, time.Hour, noted); err == nil {
		t.Error("not stored: no error")
	}
	for _, s := range []*Store{s, Open(dir, c.now)} {
		if s.Of(1000, root) != nil {
			t.Error("it is trusted")
		}
	}
	if Open(dir, c.now).Damage() == nil {
		t.Error("nothing says that the folder is none")
	}
}

// TestDamaged has files that permd has not stored so: each counts as nothing, is said, and leaves the
// others. What a daemon that was killed leaves is one of them, or the file as it was.
func TestDamaged(t *testing.T) {
	s, dir, c := opened(t)
	good := set(t, s, 1000, root, "text")
	other := set(t, s, 1000, root+"2", "text")
	path := filepath.Join(dir, nameOf(good))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	long := *good
	long.Until = good.Since.Add(Max + 1)
	tooLong, err := format(&long)
	if err != nil {
		t.Fatal(err)
	}
	another := *good
	another.Text = []byte("evil")
	anotherText, err := format(&another)
	if err != nil {
		t.Fatal(err)
	}
	renamed, err := os.ReadFile(filepath.Join(dir, nameOf(other)))
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{
		"too long": tooLong, "another text than its digest": anotherText, "another's": renamed,
		"more": append(slices.Clone(whole), ' '), "large": make([]byte, maxFile+2),
	}
	for n := range len(whole) {
		if n%7 == 0 {
			damaged["cut"+string(rune(n))] = whole[:n]
			flipped := slices.Clone(whole)
			flipped[n] ^= 1
			damaged["flipped"+string(rune(n))] = flipped
		}
	}
	for name, data := range damaged {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := Open(dir, c.now)
		if s.Of(1000, root) != nil || len(s.Damage()) != 1 || s.Of(1000, root+"2") == nil {
			t.Errorf("%s: %+v, %v", name, s.Of(1000, root), s.Damage())
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o620); err != nil { // the group can write it
		t.Fatal(err)
	}
	if s := Open(dir, c.now); s.Of(1000, root) != nil || len(s.Damage()) != 1 {
		t.Errorf("others can write it: %v", s.Damage())
	}
	// A replacement that was cut off: the file as it was, and one beside it.
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path+".new", whole[:20], 0o600)); err != nil {
		t.Fatal(err)
	}
	if s := Open(dir, c.now); s.Of(1000, root) == nil || s.Damage() != nil {
		t.Errorf("beside a replacement that was cut off: %v", s.Damage())
	}
}

// FuzzFile: what is believed of a file is a pin that permd could have stored, and is written the same.
func FuzzFile(f *testing.F) {
	p := &Pin{UID: 1000, Root: root, Digest: Digest([]byte("text")), Text: []byte("text"), Since: time.Unix(1, 0).UTC(), Until: time.Unix(100, 0).UTC()}
	data, err := format(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(version))
	f.Fuzz(func(t *testing.T, data []byte) {
		// The sum is no obstacle to who looks for what is believed.
		for _, text := range [][]byte{data, append([]byte(firstLine(data)+"\n"), data...)} {
			p, err := parse(text)
			if err != nil {
				continue
			}
			if !p.valid() {
				t.Fatalf("%+v", p)
			}
			again, err := format(p)
			if err != nil {
				t.Fatal(err)
			}
			if q, err := parse(again); err != nil || q.Root != p.Root || q.Digest != p.Digest || !q.Until.Equal(p.Until) {
				t.Fatalf("%+v, %v, of %+v", q, err, p)
			}
		}
	})
}
