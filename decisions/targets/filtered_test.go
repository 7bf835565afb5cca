package targets

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/testload"
)

// filtered returns a run of pnpm as the table reads it.
func filtered(cwd, command string) *effects.Run {
	r := &effects.Run{Program: "pnpm", Args: strings.Fields(command), Known: true, Cwd: cwd}
	for _, w := range r.Args {
		switch name, _, _ := strings.Cut(w, "="); name {
		case "--filter", "-F":
			r.Flags = append(r.Flags, "--filter")
		case "-r":
			r.Flags = append(r.Flags, "--recursive")
		case "--filter-prod":
			r.Flags = append(r.Flags, name)
		}
	}
	return r
}

// TestFiltered: a run of pnpm that selects one package by its name is bound to the script of that
// package, and to nothing where another one may be selected, or more than the script.
func TestFiltered(t *testing.T) {
	pkg := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"scripts":{"test":"vitest run","build":"vite build"}}`, name)
	}
	plain := map[string]string{
		"pnpm-workspace.yaml": "packages:\n  - apps/*\n  - 'tools'\n  - '!apps/old'\n", "package.json": `{"name":"root"}`,
		"apps/web/package.json": pkg("@x/web"), "apps/api/package.json": pkg("api"), "tools/package.json": pkg("tools"), "apps/README.md": "", "apps/c/package.json": `{"name":"c","scripts":{"test":"pnpm -r test"}}`,
	}
	of := func(command string, more map[string]string, after *effects.Disturbance) *effects.Script {
		p := plainRun{files: plain, command: command}
		return p.of(after, more)
	}
	for _, c := range []struct {
		name, command, file, why string
		more                     map[string]string
	}{
		{"by its name", "pnpm --filter api test", "apps/api", "", nil},
		{"in a word", "pnpm --filter=api run build", "apps/api", "", nil},
		{"short", "pnpm -F tools build", "tools", "", nil},
		{"with a scope", "pnpm --filter @x/web build", "apps/web", "", nil},
		{"without its scope", "pnpm --filter web build -- --mode x", "apps/web", "", nil},
		{"no such package", "pnpm --filter x build", "", "not exactly one", nil},
		{"two of that name", "pnpm --filter api test", "", "not exactly one", map[string]string{"apps/b/package.json": pkg("api")}},
		{"two scopes", "pnpm --filter web test", "", "not exactly one", map[string]string{"apps/b/package.json": pkg("@y/web")}},
		{"one that is left out", "pnpm --filter web test", "", "not exactly one", map[string]string{"apps/old/package.json": pkg("web")}},
		{"the root's name", "pnpm --filter api test", "", "not exactly one", map[string]string{"package.json": pkg("api")}},
		{"no such script", "pnpm --filter api lint", "", "no script lint", nil},
		{"a program", "pnpm --filter api exec tsc", "", "no script exec", nil},
		{"installing", "pnpm --filter api install", "", "other files or folders", nil},
		{"all that match", "pnpm --filter api run /te.*/", "", "other files or folders", nil},
		{"a pattern", "pnpm --filter a* test", "", "other files or folders", nil},
		{"what it depends on", "pnpm --filter api... test", "", "other files or folders", nil},
		{"what depends on it", "pnpm --filter ...api test", "", "other files or folders", nil},
		{"a folder", "pnpm --filter ./apps/api test", "", "other files or folders", nil},
		{"folders", "pnpm --filter {apps/api} test", "", "other files or folders", nil},
		{"others", "pnpm --filter !api test", "", "other files or folders", nil},
		{"two filters", "pnpm --filter api --filter web test", "", "other files or folders", nil},
		{"a second one behind", "pnpm --filter api test --filter=web", "", "other files or folders", nil},
		{"for production", "pnpm --filter api --filter-prod web test", "", "other files or folders", nil},
		{"all", "pnpm -r --filter api test", "", "other files or folders", nil},
		{"an option first", "pnpm --silent --filter api test", "", "other files or folders", nil},
		{"settings of the package", "pnpm --filter api test", "", ".npmrc", map[string]string{"apps/api/.npmrc": "script-shell=./x"}},
		{"another format", "pnpm --filter api test", "", "package.yaml", map[string]string{"apps/b/package.yaml": "name: api"}},
		{"folders below", "pnpm --filter api test", "", "plainly", map[string]string{"pnpm-workspace.yaml": "packages: ['**']\n"}},
		{"outside", "pnpm --filter api test", "", "plainly", map[string]string{"pnpm-workspace.yaml": "packages: ['../x']\n"}},
		{"braces", "pnpm --filter api test", "", "plainly", map[string]string{"pnpm-workspace.yaml": "packages: ['{apps,b}/*']\n"}},
		{"no packages", "pnpm --filter api test", "", "plainly", map[string]string{"pnpm-workspace.yaml": "nodeLinker: hoisted\n"}},
		{"an alias", "pnpm --filter api test", "", "plainly", map[string]string{"pnpm-workspace.yaml": "x: &a ['**']\npackages: *a\n"}},
		{"a name in two ways", "pnpm --filter api test", "", "several ways", map[string]string{"apps/b/package.json": `{"name":"b","name":"api"}`}},
		{"a script of all", "pnpm --filter c test", "", "another package", nil},
	} {
		switch s := of(c.command, c.more, &effects.Disturbance{}); {
		case c.why != "" && !strings.Contains(s.Unbound, c.why) || (s.Unbound == "") != (c.why == ""):
			t.Errorf("%s: %+v, want %q", c.name, s, c.why)
		case c.why == "" && s.Path != targetsRoot+"/"+c.file+"/package.json":
			t.Errorf("%s: bound to %s", c.name, s.Path)
		}
	}
	before := of("pnpm --filter api test", nil, &effects.Disturbance{})
	for name, more := range map[string]map[string]string{
		"the script": {"apps/api/package.json": `{"name":"api","scripts":{"test":"evil"}}`}, "which pnpm": {"package.json": `{"name":"root","packageManager":"pnpm@1.0.0"}`},
	} {
		if s := of("pnpm --filter api test", more, &effects.Disturbance{}); s.SHA256 == before.SHA256 {
			t.Errorf("%s: bound to the same text", name)
		}
	}
	for _, written := range []string{"pnpm-workspace.yaml", "apps/api/package.json", "apps/b/package.json", "tools/package.json", "apps/b", "package.json", "apps/api/.npmrc"} {
		if s := of("pnpm --filter api test", nil, &effects.Disturbance{Written: []string{targetsRoot + "/" + written}}); s.Unbound == "" {
			t.Errorf("the call writes %s: bound to %+v", written, s)
		}
	}
}

// TestFilteredReads: in workspaces that are made at random, the real pnpm runs the script that
// the run is bound to, and no other.
func TestFilteredReads(t *testing.T) {
	pnpm, err := exec.LookPath("pnpm")
	if err != nil {
		t.Skip("pnpm is missing")
	}
	rounds := testload.Rounds(t, "PERMD_TEST_PNPM_ROUNDS", 6, 20)
	r := rand.New(rand.NewPCG(1, 2))
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	home := t.TempDir()
	bound, ran := 0, 0
	for i := range rounds {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		write := func(file, text string) {
			t.Helper()
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(".git/HEAD", "ref: refs/heads/main\n")
		var used []string
		names := []string{"api", "@x/api", "web", "@x/web", "@y/web", "b", "root"}
		var list []string
		for range 1 + r.IntN(3) {
			list = append(list, "- '"+one("apps/*", "*", "tools", "./apps/*", "apps/a", "!apps/b", "!tools", "apps/*/x", "libs/")+"'\n")
		}
		write("pnpm-workspace.yaml", "packages:\n"+strings.Join(list, ""))
		for _, dir := range []string{"", "apps/a", "apps/b", "apps/.c", "apps/a/x", "tools", "libs", "apps/node_modules", "test", "apps/a/node_modules/api"} {
			if dir != "" && r.IntN(3) == 0 {
				continue
			}
			scripts := fmt.Sprintf(`{"test":"echo %s >> \"%s/ran\"","build":"echo %s >> \"%s/ran\""}`, filepath.Join(root, dir), root, filepath.Join(root, dir), root)
			name := one(names...)
			used = append(used, name, strings.TrimPrefix(name, "@x/"))
			write(filepath.Join(dir, "package.json"), fmt.Sprintf(`{"name":%q,"version":"1.0.0","scripts":%s}`, name, scripts))
		}
		for range 3 {
			command := "--filter " + one(used...) + " " + one("test", "run build", "build", "t")
			cwd := filepath.Join(root, one("", "apps/a", "tools"))
			if _, err := os.Stat(cwd); err != nil {
				continue
			}
			s := Of(paths.OSFS{}, filtered(cwd, command), &effects.Disturbance{}, &effects.User{})
			_ = os.Remove(filepath.Join(root, "ran"))
			c := exec.CommandContext(t.Context(), pnpm, strings.Fields(command)...)
			c.Dir, c.Env = cwd, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CI=1", "NO_UPDATE_NOTIFIER=1"}
			out, _ := c.CombinedOutput()
			text, _ := os.ReadFile(filepath.Join(root, "ran"))
			var want string
			if s.Unbound == "" {
				bound++
				want = filepath.Dir(s.Path)
			}
			got := strings.Fields(string(text))
			slices.Sort(got)
			got = slices.Compact(got)
			if want != "" && len(got) > 0 {
				ran++
			}
			if want != "" && len(got) > 0 && !slices.Equal(got, []string{want}) {
				t.Errorf("workspace %d %q: pnpm %s in %s ran %q, bound to %s\n%s", i, list, command, cwd, got, want, out)
			}
		}
	}
	if t.Logf("%d runs were bound, %d of them ran", bound, ran); ran == 0 {
		t.Error("nothing was compared")
	}
}
