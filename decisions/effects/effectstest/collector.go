package effectstest

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/collect"
	"github.com/permd/permd/decisions/effects/paths"
)

// Collector returns the collector of a call in the checkout, whose effects so far are
// those.
func Collector(t testing.TB, fs effects.FS, before ...effects.Effect) *collect.Collector {
	t.Helper()
	call := &effects.Call{Cwd: Cwd, User: effects.User{Name: "ana", Home: "/home/ana", Env: map[string]string{"HOME": "/home/ana"}}}
	env := paths.Environment{FS: fs}
	c := collect.New(env, Table(t), call, paths.NewResolver(env, call))
	for _, e := range before {
		c.Add(e)
	}
	return &c
}

// Change is a write or a delete of one path.
func Change(kind effects.Kind, path string) effects.Effect {
	return effects.Effect{Kind: kind, File: &effects.File{Path: path}}
}
