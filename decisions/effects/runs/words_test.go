package runs

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/settings"
)

func TestPlainSpec(t *testing.T) {
	for text, want := range map[string]bool{
		"react": true, "@types/node": true, "react@18.2.0": true, "lodash.merge@^4": true, "a/b": false, "./x": false, "../x": false, "/x": false,
		"@/x": false, "x.tgz": false, "git+ssh://x": false, "x@npm:y": false, "x@https://y": false, "~x": false, "": false, ".": false, "github:a/b": false,
		"@a/b/c": false, "a@../b": false,
	} {
		if got := settings.PlainSpec(text); got != want {
			t.Errorf("%q is the name of a package: %v", text, got)
		}
	}
}

func TestNames(t *testing.T) {
	fs := fsfake.New()
	fs.Dir(effectstest.Cwd)
	fs.File(effectstest.Cwd+"/here.rb", "")
	env, c := paths.Environment{FS: fs}, &effects.Call{Cwd: effectstest.Cwd}
	b := NewBuilder(env, effectstest.Table(t), c, paths.NewResolver(env, c), nil)
	for text, want := range map[string]bool{
		"ls": true, "openssl@3": true, "git-log": true, "here.rb": false, "a/b": false, "./x": false, ".x": false, "https:x": false, "~x": false,
	} {
		v := invocation{b: b, run: &effects.Run{Cwd: effectstest.Cwd}}
		if got := v.isName(text); got != want {
			t.Errorf("%q is a name: %v", text, got)
		}
	}
}
