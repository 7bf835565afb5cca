package gatehttp

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func openSent(t *testing.T, dir string) *Sent {
	t.Helper()
	s, err := OpenSent(dir, "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSent: what was noted is known, also by the next one who opens the file, and nothing else.
func TestSent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "otc")
	one, two := sha256.Sum256([]byte("1")), sha256.Sum256([]byte("2"))
	is := func(s *Sent, what string, sent, same bool, id ...string) {
		t.Helper()
		if gotSent, gotSame := s.Find(one, id...); gotSent != sent || gotSame != same {
			t.Errorf("%s: sent %v, the same %v", what, gotSent, gotSame)
		}
	}
	s := openSent(t, dir)
	is(s, "nothing", false, false, "a", "b")
	for _, note := range []struct {
		call [32]byte
		id   []string
	}{{one, []string{"a", "b"}}, {two, []string{"other"}}, {one, []string{"unsent"}}, {one, []string{"a", "b"}}} {
		if err := s.Note(note.call, note.id...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Forget("unsent"); err != nil {
		t.Fatal(err)
	}
	check := func(s *Sent) {
		t.Helper()
		is(s, "sent", true, true, "a", "b")
		is(s, "parts of ids", false, false, "ab")
		is(s, "parts of ids", false, false, "a", "b", "")
		is(s, "another call", true, false, "other")
		is(s, "not sent after all", false, false, "unsent")
	}
	check(s)
	if s.lines != 4 {
		t.Errorf("%d lines", s.lines)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Note(one, "late"); err == nil {
		t.Error("a call is noted after Close")
	}
	s = openSent(t, dir)
	check(s)
	other, err := OpenSent(dir, "127.0.0.1:2")
	if err != nil {
		t.Fatal(err)
	}
	is(other, "of another address", false, false, "a", "b")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	path := s.path
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// A power cut at any byte: what was noted before is known, and what is noted then.
	for n := range len(text) {
		if err := os.WriteFile(path, text[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s := openSent(t, dir)
		is(s, fmt.Sprint("cut at ", n), n >= sentLine, n >= sentLine, "a", "b")
		if err := s.Note(one, "more"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openSent(t, dir)
		is(s, fmt.Sprint("cut at ", n), n >= sentLine, n >= sentLine, "a", "b")
		is(s, fmt.Sprint("after a cut at ", n), true, true, "more")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for what, damaged := range map[string]string{
		"another line": strings.Replace(string(text), " ", "\n", 1), "no digits": strings.Replace(string(text), string(text[:2]), "xx", 1), "zeros": string(make([]byte, len(text))),
		"too long": strings.Repeat(string(text), maxSentFile/len(text)+1),
	} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := OpenSent(dir, "127.0.0.1:1"); err == nil {
			t.Errorf("%s: it is opened", what)
			_ = s.Close()
		}
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSent(dir, "127.0.0.1:1"); err == nil {
		t.Error("a file that others can change is used")
	}
	if sent, _ := (*Sent)(nil).Find(one, "a"); sent || (*Sent)(nil).Note(one, "a") != nil || (*Sent)(nil).Close() != nil {
		t.Error("none knows a call")
	}
}

// TestSentBounds: the file and what is kept of it are bounded, and the newest are known.
func TestSentBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := sha256.Sum256([]byte("1"))
	s := openSent(t, dir)
	var b bytes.Buffer
	const all = 2*maxSent - 2
	for i := range all {
		b.Write(appendSent(nil, sentKey([]string{fmt.Sprint(i)}), sentSum(one[:sentBytes])))
	}
	if err := os.WriteFile(s.path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openSent(t, dir)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := s.Note(one, fmt.Sprint(all+i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, want := range map[int]bool{0: false, all - maxSent + 7: false, all - maxSent + 8: true, all: true, all + 7: true} {
		if sent, _ := s.Find(one, fmt.Sprint(i)); sent != want {
			t.Errorf("%d: sent %v", i, sent)
		}
	}
	if s.lines = 2 * maxSent; s.Note(one, "one more") != nil || s.lines != maxSent+1 {
		t.Errorf("%d lines", s.lines)
	}
	path := s.path
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != (maxSent+1)*sentLine {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	s = openSent(t, dir)
	if sent, same := s.Find(one, "one more"); !sent || !same {
		t.Error("a call that was noted after the file was written anew is not known")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
