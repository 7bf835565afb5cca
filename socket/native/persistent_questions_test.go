package native

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestQuestionsOfFiles: an approval is bound to the contents of the files that the
// call runs and reads, and is not accepted if the contents of what it runs are
// unknown.
func TestQuestionsOfFiles(t *testing.T) {
	d := newPersistentDaemon()
	f := d.lasting.treeOf(1000, "claude", "s")
	req := &decisions.Request{Session: decisions.SessionRef{Conn: f.owner.Conn, ID: "s"}}
	dec := &decisions.Decision{ID: "1", Verdict: decisions.Ask, Contents: []decisions.Content{{Path: "/run", Code: true}, {Path: "/read"}, {Path: "/folder", Code: true}}}
	d.lasting.addQuestion(f, req, dec)
	if open := d.lasting.Questions(nil); len(open) != 0 {
		t.Fatal("it waits, though nobody can read what it runs")
	}
	files := map[string]string{"/run": "1", "/read": "1"}
	d.lasting.Digest = func(path string, limit int64) (string, int64, error) {
		text, ok := files[path]
		switch {
		case path == "/folder":
			return "", 0, fmt.Errorf("hashing: %w", decisions.ErrNoContent)
		case !ok:
			return "", 0, fs.ErrNotExist
		case int64(len(text)) > limit:
			return "", 0, errors.New("too long")
		}
		return text[:1], int64(len(text)), nil
	}
	d.lasting.addQuestion(f, req, &decisions.Decision{ID: "3", Verdict: decisions.Ask, Contents: []decisions.Content{{Code: true}}})
	if open := d.lasting.Questions(nil); len(open) != 0 {
		t.Fatal("it waits, though it names more files than can be compared")
	}
	for name, change := range map[string]map[string]string{
		"unchanged":       {"/run": "1", "/read": "1"},
		"it runs another": {"/run": "2", "/read": "1"},
		"it reads other":  {"/run": "1", "/read": "2"},
		"what it ran":     {"/read": "1"},
		"too long to say": {"/run": strings.Repeat("1", maxContent+1), "/read": "1"},
	} {
		files = map[string]string{"/run": "1", "/read": "1"}
		d.lasting.addQuestion(f, req, dec)
		if _, err := d.lasting.AllowOnce(nil, "1", logged); err != nil {
			t.Fatal(err)
		}
		files = change
		if got, want := d.lasting.TakeGrant(req, dec), name == "unchanged"; got != want {
			t.Errorf("%s: allowed %v, want %v", name, got, want)
		}
		d.lasting.grants = nil
	}
}

// TestMaskedQuestions: an approval is bound to what the effects are, also where their texts do
// not tell.
func TestMaskedQuestions(t *testing.T) {
	d := newPersistentDaemon()
	f := d.lasting.treeOf(1000, "claude", "s")
	req := &decisions.Request{Session: decisions.SessionRef{Conn: f.owner.Conn, ID: "s"}}
	of := func(change func(*decisions.Decision)) *decisions.Decision {
		q := &decisions.Decision{
			ID: "1", Verdict: decisions.Ask, Fingerprints: []decisions.Fingerprint{{1}, {2}},
			Effects: []decisions.EffectDecision{{Kind: effects.KindRun, Text: "run tee --password ***"}, {Kind: effects.KindWrite, Text: "write ***"}},
		}
		change(q)
		return q
	}
	for name, change := range map[string]func(*decisions.Decision){
		"unchanged":         func(*decisions.Decision) {},
		"another file":      func(q *decisions.Decision) { q.Fingerprints[1] = decisions.Fingerprint{3} },
		"only claimed":      func(q *decisions.Decision) { q.Effects[1].Claimed = true },
		"only declared":     func(q *decisions.Decision) { q.Effects[1].Declared = true },
		"nothing is known":  func(q *decisions.Decision) { q.Fingerprints = nil },
		"a hint counts now": func(q *decisions.Decision) { q.Fingerprints = append(q.Fingerprints, decisions.Fingerprint{4}) },
	} {
		d.lasting.addQuestion(f, req, of(func(*decisions.Decision) {}))
		if _, err := d.lasting.AllowOnce(nil, "1", logged); err != nil {
			t.Fatal(err)
		}
		if got, want := d.lasting.TakeGrant(req, of(change)), name == "unchanged"; got != want {
			t.Errorf("%s: allowed %v, want %v", name, got, want)
		}
		d.lasting.grants = nil
	}
}

// TestOverHTTPApart: sessions over HTTP and those that a client of the socket declares with the
// same harness and id are apart: an approval in one is no approval in the other, and a report
// over the socket ends no question of HTTP.
func TestOverHTTPApart(t *testing.T) {
	d := newPersistentDaemon()
	over := func(id uint64, http bool) *decisions.Request {
		c := conn(id)
		if http {
			StateOf(c).OverHTTP()
		}
		d.must(t, c, MethodSession, `{"sessionId":"s","cwd":"/w","harness":"http"}`)
		return d.decide(t, c, "s", "ask", `{"n":1}`)
	}
	web, own := over(1, true), over(2, false)
	if web.Session.Conn == own.Session.Conn || over(3, true).Session.Conn != web.Session.Conn {
		t.Fatalf("the owners are %d and %d", web.Session.Conn, own.Session.Conn)
	}
	d.must(t, conn(4), methodFinished, `{"sessionId":"s","harness":"http","turnEnded":true}`)
	open := d.lasting.Questions(nil)
	if len(open) == 0 {
		t.Fatal("the questions of HTTP have ended")
	}
	if _, err := d.lasting.AllowOnce(nil, open[0].Decision.ID, logged); err != nil {
		t.Fatal(err)
	}
	if d.lasting.TakeGrant(own, open[0].Decision) {
		t.Error("the approval was used up over the socket")
	}
	if !d.lasting.TakeGrant(web, open[0].Decision) {
		t.Error("the approval does not count over HTTP")
	}
}
