package shell

import (
	"os"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
)

// TestMayConnect: what denies see of connections that are made sometimes, and of those that curl
// makes for a pattern, besides the effects.
func TestMayConnect(t *testing.T) {
	const npm = "registry.npmjs.org"
	for text, want := range map[string]string{
		"npm ls":                                 npm,
		"npm prefix":                             npm,
		"npm config get registry":                npm,
		"npm ls --no-update-notifier":            "",
		"npm --version":                          "",
		"npm view x":                             "", // an effect
		"curl 'http://{evil.example,x.example}'": "evil.example",
		"curl 'http://ev{a,i}l.example/p[1-9]'":  "evil.example",
		"curl http://good.example/":              "",
	} {
		c := &effects.Call{Cwd: effectstest.Cwd, User: effects.User{UID: uint32(os.Getuid()), Home: "/home/ana"}}
		env := paths.Environment{FS: effectstest.Files()}
		b := NewBuilder(env, effectstest.Table(t), c, paths.NewResolver(env, c))
		Text(b, text, effectstest.Cwd, "command")
		found := ""
		for _, e := range b.Paths.MayReach {
			if e.Connect.Host == want {
				found = want
			}
		}
		if found != want || want == "" && len(b.Paths.MayReach) > 0 || b.Paths.TooManyHosts {
			t.Errorf("%s: denies see %v, want %q", text, b.Paths.MayReach, want)
		}
	}
}
