package decisions

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// TestCacheSeesNewSecrets: a cached search is decided again after a file with the
// name of a secret was made in a folder that it searches, and again after it was
// deleted.
func TestCacheSeesNewSecrets(t *testing.T) {
	p, _, _, e := newCached(t)
	e.fs = paths.NewIndex(paths.OSFS{}, time.Now)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, "a", "b")
	if err := errors.Join(os.MkdirAll(deep, 0o700), os.Mkdir(filepath.Join(dir, ".git"), 0o700)); err != nil {
		t.Fatal(err)
	}
	req := bash(t, "grep -r KEY .")
	req.Call.Cwd = dir
	step := func(what string, secret, asked bool) {
		t.Helper()
		d, results := p.again(t, e, req)
		found := slices.ContainsFunc(d.Effects, func(x EffectDecision) bool {
			return x.Kind == effects.KindRead && slices.Contains(x.Tags, "secret")
		})
		if found != secret || results != asked {
			t.Errorf("%s: secret %v, rules asked %v", what, found, results)
		}
	}
	step("no secret", false, true)
	step("again", false, false)
	if err := os.WriteFile(filepath.Join(deep, ".env"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	step("a secret", true, true)
	step("again", true, false)
	if err := os.Remove(filepath.Join(deep, ".env")); err != nil {
		t.Fatal(err)
	}
	step("it is gone", false, true)
}

// TestSecretAndNetwork has calls that read a secret, or whose programs print one,
// and reach the network.
func TestSecretAndNetwork(t *testing.T) {
	secret, loopback := effects.TagsOf(effects.Secret), effects.TagsOf(effects.Loopback)
	read := effects.Effect{Kind: effects.KindRead, Tags: secret}
	write := effects.Effect{Kind: effects.KindWrite, Tags: secret}
	printer := effects.Effect{Kind: effects.KindRun, Tags: secret}
	lists := effects.Effect{Kind: effects.KindState, Tags: secret}
	plain := effects.Effect{Kind: effects.KindRun}
	connect := effects.Effect{Kind: effects.KindConnect}
	of := func(run int) effects.Effect {
		return effects.Effect{Kind: effects.KindConnect, Via: &effects.Via{Effect: run, Arg: effects.Inherent}}
	}
	near := effects.Effect{Kind: effects.KindConnect, Tags: loopback}
	for _, tt := range []struct {
		name string
		effs []effects.Effect
		want bool
	}{
		{"read alone", []effects.Effect{plain, read}, false},
		{"read and reach", []effects.Effect{plain, read, connect}, true},
		{"read and reach this machine", []effects.Effect{plain, read, near}, false},
		{"write and reach", []effects.Effect{plain, write, connect}, false},
		{"print alone", []effects.Effect{printer}, false},
		{"print, from its own service", []effects.Effect{printer, of(0)}, false},
		{"print, and another reaches", []effects.Effect{printer, plain, of(1)}, true},
		{"print from its own service, and another reaches", []effects.Effect{printer, of(0), plain, of(2)}, true},
		{"print, and another reaches this machine", []effects.Effect{printer, plain, near}, false},
		{"two print, each from its own", []effects.Effect{printer, of(0), printer, of(2)}, false},
		{"print, and read from an address in its words", []effects.Effect{printer, {Kind: effects.KindConnect, Via: &effects.Via{Arg: 1}}}, true},
		{"list variables and reach", []effects.Effect{lists, connect}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := secretLeaves(tt.effs); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
