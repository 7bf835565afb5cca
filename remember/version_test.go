//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// TestVersions: what is remembered of a tool is bound to the version that was asked
// for, to the credentials that it is handed, and to whom it is for; that none was
// asked for is a version too.
func TestVersions(t *testing.T) {
	t.Parallel()
	tool := func(version string, secrets ...string) effects.Effect {
		e := use("Sms", "Send", `{"to":"+1"}`)
		e.Use.Version, e.Use.Credentials.Secrets = version, secrets
		return e
	}
	scoped := func(scopes ...string) effects.Effect {
		e := tool("1.2.0")
		e.Use.Credentials.Authorizations = []effects.Authorization{{ID: "idp", Scopes: scopes}}
		return e
	}
	dana, bob := tool("1.2.0"), tool("1.2.0")
	dana.Use.OnBehalfOf, bob.Use.OnBehalfOf = "dana", "bob"
	all := map[string]effects.Effect{
		"for dana": dana, "for bob": bob,
		"1.2.0": tool("1.2.0"), "1.3.0": tool("1.3.0"), "latest": tool(""), "1.2.0 with KEY": tool("1.2.0", "KEY"), "1.2.0 with KEY and ROOT": tool("1.2.0", "KEY", "ROOT"),
		"latest with KEY": tool("", "KEY"), "read": scoped("read"), "write": scoped("write"), "no scopes": scoped(),
	}
	for name, saved := range all {
		for level := range 2 {
			s := open(t, options(path(t)))
			c := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(saved), Scope: remember.ForUser, Level: level})
			for other, e := range all {
				want := ""
				if other == name {
					want = "allow"
				}
				if got := said(t, s, ask(e)); got != want {
					t.Errorf("%s of level %d (%s): %s is %q", name, level, c.Label, other, got)
				}
			}
		}
	}
}

// TestVersionLines: a line that a person remembers says nothing of versions that it
// does not name, and nothing of credentials.
func TestVersionLines(t *testing.T) {
	t.Parallel()
	tool := func(version string) effects.Effect {
		e := use("Sms", "Send", "{}")
		e.Use.Version = version
		return e
	}
	given := tool("1.2.0")
	given.Use.Credentials.Secrets = []string{"KEY"}
	for line, want := range map[string][5]string{
		// none, 1.2.0, 2.0.0, 2.0.1, 1.2.0 with a secret
		"Sms:Send":       {"allow", "", "", "", ""},
		"Sms:*":          {"allow", "", "", "", ""},
		"Sms:Send@1.2.0": {"", "allow", "", "", ""},
		"Sms:Send@2":     {"", "", "allow", "", ""},
		"Sms:Send@2.0.0": {"", "", "allow", "", ""},
		"*:Send@2.*":     {"", "", "allow", "allow", ""},
		"Sms:*@*":        {"", "allow", "allow", "allow", ""},
	} {
		for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
			s := open(t, options(path(t)))
			if _, err := s.Add(t.Context(), remember.Line{UID: ada, Verdict: verdict, Kind: effects.KindUse, Line: line, Scope: remember.ForUser}); err != nil {
				t.Fatal(err)
			}
			for i, e := range []effects.Effect{tool(""), tool("1.2.0"), tool("2.0.0"), tool("2.0.1"), given} {
				want := want[i]
				if verdict == decisions.Deny {
					// A reject is about all that it may mean.
					want = map[string][5]string{
						"Sms:Send": {"deny", "deny", "deny", "deny", "deny"}, "Sms:*": {"deny", "deny", "deny", "deny", "deny"},
						"Sms:Send@1.2.0": {"", "deny", "", "", "deny"}, "Sms:Send@2": {"", "", "deny", "", ""}, "Sms:Send@2.0.0": {"", "", "deny", "", ""},
						"*:Send@2.*": {"", "", "deny", "deny", ""}, "Sms:*@*": {"", "deny", "deny", "deny", "deny"},
					}[line][i]
				}
				if got := said(t, s, ask(e)); got != want {
					t.Errorf("%s %s, effect %d: %q, want %q", verdict, line, i, got, want)
				}
			}
		}
	}
}
