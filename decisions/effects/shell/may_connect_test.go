package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/testload"
)

// TestMayConnect: what denies see of connections that are made sometimes, and of those that curl
// makes for a pattern, besides the effects.
func TestMayConnect(t *testing.T) {
	const npm, hashicorp = "registry.npmjs.org", "checkpoint-api.hashicorp.com"
	for text, want := range map[string]string{
		"npm ls":                                 npm,
		"npm prefix":                             npm,
		"npm config get registry":                npm,
		"npm ls --no-update-notifier":            "",
		"npm --version":                          "",
		"npm view x":                             "", // an effect
		"pip list":                               "pypi.org",
		"python3 -m pip list -v":                 "pypi.org",
		"pip list --disable-pip-version-check":   "",
		"pip list -o":                            "", // an effect
		"pip freeze":                             "",
		"pdm list":                               "pypi.org",
		"gh --version":                           "api.github.com",
		"gh extension list":                      "api.github.com",
		"gh alias list":                          "api.github.com",
		"gh help":                                "api.github.com",
		"brew list":                              "formulae.brew.sh",
		"brew --prefix x":                        "formulae.brew.sh",
		"terraform version":                      hashicorp,
		"terraform validate":                     hashicorp,
		"terraform --version":                    hashicorp,
		"terraform state list":                   hashicorp,
		"yarn --version":                         "repo.yarnpkg.com",
		"pnpm --version":                         npm,
		"deno run a.ts":                          "dl.deno.land",
		"dotnet --version":                       "dc.services.visualstudio.com",
		"dotnet build":                           "dc.services.visualstudio.com",
		"mise ls":                                "mise.jdx.dev",
		"flutter analyze":                        "www.google-analytics.com",
		"curl 'http://{evil.example,x.example}'": "evil.example",
		"curl 'http://ev{a,i}l.example/p[1-9]'":  "evil.example",
		"curl http://good.example/":              "",
		"hostname -f":                            "nameserver",
		"hostname --ip-address":                  "nameserver",
		"hostname -s":                            "",
		"curl --version":                         "nameserver",
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

// TestConnectsOracle: a program that looks for a host on a machine without a network has an
// effect for it, or one that denies see.
func TestConnectsOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts pip, npm and the like; TestMayConnect is the quick one")
	}
	if out, err := exec.Command("unshare", "-rn", "true").CombinedOutput(); err != nil {
		t.Skipf("a run without a network is not possible here: %v, %s", err, out)
	}
	o := newTracedOracle(t)
	connected := 0
	for _, text := range testload.Sample(t, 6, []string{
		"pip list", "pip list -v", "pip3 list --disable-pip-version-check", "pip freeze", "pip show pip", "pip check", "pip config list", "pip cache dir", "npm ls", "npm config get registry",
		"terraform version", "terraform --version", "gh extension list", "gh --version", "deno --version", "yarn --version", "pnpm --version", "ruff --version", "uv tool list", "cargo --version", "rustup show",
		"helm version", "docker --version", "aws --version", "go version", "gem list", "composer --version", "biome --version", "golangci-lint --version",
	}) {
		at, err := exec.LookPath(strings.Fields(text)[0])
		if err != nil {
			continue
		}
		env := o.env
		o.env = append(slices.Clone(env), "PATH="+filepath.Dir(at)+":"+os.Getenv("PATH"))
		found := o.trace(t, "unshare -rn "+text, o.project)
		if o.env = env; len(found.connects) == 0 {
			continue
		}
		connected++
		b := onDisk(effectstest.Table(t), o.top, o.project, text)
		if len(b.Paths.MayReach) == 0 && !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindConnect || e.Kind == effects.KindUnknown }) {
			t.Errorf("%s connects to %s, which no effect has", text, found.connects)
		}
	}
	t.Logf("%d programs connected", connected)
}
