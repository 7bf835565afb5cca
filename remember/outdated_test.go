//go:build cgo

package remember_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
)

// outdatedFiles are a project with a script and a target.
func outdatedFiles() map[string]string {
	return map[string]string{"/p/Makefile": "lint:\n\ttrue\n", "/p/package.json": `{"scripts": {"lint": "eslint"}}`, "/p/sub/f": "x"}
}

// TestOutdated: a choice that only changed content keeps from answering is named with the
// question, and renewed by one answer.
func TestOutdated(t *testing.T) {
	a, _ := rejecting(t, outdatedFiles())
	a.allowNarrowest(t, a.in(t, "/p", "npm run lint"))
	old := a.store.List(nil)[0]
	if old.BoundTo != "script lint of ./package.json" || old.BoundText != "lint: eslint\n" {
		t.Errorf("bound to %q: %q", old.BoundTo, old.BoundText)
	}
	wantVerdict(t, a.in(t, "/p", "npm run lint"), decisions.Allow, "the same text")
	for _, c := range []struct {
		command string
		how     decisions.Change
	}{
		{"echo x > package.json; npm run lint", decisions.ContentUnknown},
		{"npm run other", ""}, {"npm run lint -- --fix", ""}, {"make lint", ""},
	} {
		d := a.in(t, "/p", c.command)
		wantVerdict(t, d, decisions.Ask, c.command)
		var how decisions.Change
		for _, e := range d.Effects {
			if e.Outdated != nil {
				how = e.Outdated.How
			}
		}
		if how != c.how {
			t.Errorf("%s: %q, want %q (%s)", c.command, how, c.how, d.Reason)
		}
	}
	a.fs().File("/p/package.json", `{"scripts": {"lint": "evil \u001b[0m `+strings.Repeat("x", 500)+`"}}`)
	d := a.in(t, "/p", "npm run lint")
	o := d.Effects[0].Outdated
	if o == nil || o.ChoiceID != old.ID || o.How != decisions.ContentChanged || o.Was != "lint: eslint\n" || !strings.HasPrefix(o.Now, `lint: evil \u{1b}`) {
		t.Fatalf("outdated: %+v", o)
	}
	if !strings.HasPrefix(d.Reason, "asks again: script lint of ./package.json has changed") || len(d.Reason) > 400 || strings.Contains(d.Reason, "\x1b") {
		t.Errorf("the reason: %q", d.Reason)
	}
	a.allowNarrowest(t, d)
	list := a.store.List(nil)
	if len(list) != 1 || list[0].ID == old.ID || list[0].Scope != old.Scope {
		t.Errorf("renewed as %+v", list)
	}
	wantVerdict(t, a.in(t, "/p", "npm run lint"), decisions.Allow, "renewed")
	a.fs().File("/p/package.json", `{"scripts": {"lint": "eslint"}}`)
	wantVerdict(t, a.in(t, "/p", "npm run lint"), decisions.Ask, "the text of the choice that was renewed")
}

// TestOutdatedScope: a choice of the user is offered for the user again.
func TestOutdatedScope(t *testing.T) {
	a, _ := rejecting(t, outdatedFiles())
	d := a.in(t, "/p", "make lint")
	keep := func(d *decisions.Decision, width decisions.Width, scope string) {
		t.Helper()
		if _, err := a.store.Keep(t.Context(), decisions.Answer{Verdict: decisions.Allow, Offer: d.Offer, Width: width.ID, Scope: scope}); err != nil {
			t.Fatal(err)
		}
	}
	keep(d, d.Widths[1], "user") // a line
	a.fs().File("/p/Makefile", "lint:\n\tevil\n")
	d = a.in(t, "/p", "make lint")
	if d.Widths[1].Scope != "user" || d.Effects[0].Outdated == nil {
		t.Fatalf("%+v, %+v", d.Widths, d.Effects[0].Outdated)
	}
	keep(d, d.Widths[1], "")
	if list := a.store.List(nil); len(list) != 1 || list[0].Scope.Kind != "user" || !list[0].ByLine {
		t.Errorf("renewed as %+v", list)
	}
	// A narrower answer takes the place of no wider one.
	a.fs().File("/p/Makefile", "lint:\n\tother\n")
	d = a.in(t, "/p", "make lint")
	keep(d, d.Widths[0], "")
	if list := a.store.List(nil); len(list) != 2 {
		t.Errorf("two choices of different width: %+v", list)
	}
}

// TestOutdatedUnreadable: what a choice keeps for people decides nothing: without it, as in
// databases of versions that had none, and where it cannot be read, the choice holds and
// asks as before.
func TestOutdatedUnreadable(t *testing.T) {
	for name, c := range map[string]struct{ change, what string }{
		"nothing kept": {"UPDATE choices SET bound = NULL", ""},
		"no JSON":      {"UPDATE choices SET bound = x'78'", ""},
		"no digest":    {`UPDATE choices SET bound = CAST('{"what": "y", "loose": "AA=="}' AS BLOB)`, ""},
		"as it is":     {"UPDATE choices SET bound = bound", "target lint of ./Makefile"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := rejecting(t, outdatedFiles())
			a.allowNarrowest(t, a.in(t, "/p", "make lint"))
			if err := a.store.Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, a.path, c.change)
			files := a.config.FS
			a.again(t)
			a.config.FS = files
			wantVerdict(t, a.in(t, "/p", "make lint"), decisions.Allow, "the same text")
			a.fs().File("/p/Makefile", "lint:\n\tevil\n")
			d := a.in(t, "/p", "make lint")
			wantVerdict(t, d, decisions.Ask, "another text")
			what := ""
			if o := d.Effects[0].Outdated; o != nil {
				what = o.What
			}
			if what != c.what {
				t.Errorf("bound to %q, want %q", what, c.what)
			}
		})
	}
}

// TestBoundIsForgotten: the text goes with the choice, however it ends; what it is bound to stays,
// so that it can be taken back.
func TestBoundIsForgotten(t *testing.T) {
	kept := func(t *testing.T, path string) (n int) {
		t.Helper()
		db, err := sql.Open("sqlite3", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow(`SELECT count(*) FROM choices WHERE CAST(bound AS TEXT) LIKE '%"text"%' OR CAST(bound AS TEXT) LIKE '%true%' AND CAST(bound AS TEXT) NOT LIKE '%"erased":true%'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, end := range map[string]func(t *testing.T, a *asked, id string){
		"forgotten": func(t *testing.T, a *asked, id string) {
			if _, err := a.store.Forget(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		},
		"renewed": func(t *testing.T, a *asked, _ string) {
			a.fs().File("/p/Makefile", "\nlint:\n\ttrue\n\ttrue\n")
			a.allowNarrowest(t, a.in(t, "/p", "make lint"))
			for _, c := range a.store.List(nil) {
				if _, err := a.store.Forget(t.Context(), c.ID); err != nil {
					t.Fatal(err)
				}
			}
		},
		"expired before the start": func(t *testing.T, a *asked, _ string) {
			if err := a.store.Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, a.path, "UPDATE choices SET expires = 1"+unsealed)
			a.again(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := rejecting(t, outdatedFiles())
			d := a.in(t, "/p", "make lint")
			stored, err := a.store.Keep(t.Context(), decisions.Answer{Verdict: decisions.Allow, Offer: d.Offer, Width: "w1", For: time.Hour})
			if err != nil || kept(t, a.path) != 1 {
				t.Fatalf("control: %v", err)
			}
			end(t, a, stored[0].ID)
			if n := kept(t, a.path); n != 0 {
				t.Errorf("%d rows keep it", n)
			}
		})
	}
}
