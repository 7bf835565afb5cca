package shell

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/testload"
)

// openedOracle makes projects in which files that programs open by themselves are links to files
// with a canary, and compares what the real programs print with the effects.
type openedOracle struct {
	top, project string
	env          []string
	canaries     map[string]string // by the canary, its file
	rnd          *rand.Rand
	linked       string // the link
	before       string // the earlier part of the call that makes it, if one does
	seed         uint64
}

func newOpenedOracle(t *testing.T, programs ...string) *openedOracle {
	t.Helper()
	path := os.Getenv("PATH")
	for _, name := range programs {
		at, err := exec.LookPath(name)
		if err != nil {
			t.Skip(name + " is missing")
		}
		path = filepath.Dir(at) + ":" + path
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := &openedOracle{top: top, project: filepath.Join(top, "p"), canaries: map[string]string{}, seed: testload.Seed(t)}
	o.rnd = rand.New(rand.NewPCG(o.seed, 6))
	o.env = append(gitEnv(top), "PATH="+path, "GOCACHE="+filepath.Join(t.TempDir(), "cache"), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOPATH="+filepath.Join(top, "go"), "npm_config_offline=true", "npm_config_update_notifier=false", "PIP_DISABLE_PIP_VERSION_CHECK=1")
	return o
}

func (o *openedOracle) pick(list ...string) string { return list[o.rnd.IntN(len(list))] }

// reset makes an empty project.
func (o *openedOracle) reset(t *testing.T) {
	t.Helper()
	for _, dir := range []string{o.project, filepath.Join(o.top, "other")} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	clear(o.canaries)
	o.before = ""
	filetest.Write(t, filepath.Join(o.project, ".git/HEAD"), "ref: refs/heads/main\n")
	filetest.Write(t, filepath.Join(o.project, ".git/objects/x"), "")
	filetest.Write(t, filepath.Join(o.project, ".git/refs/x"), "")
	filetest.Write(t, filepath.Join(o.project, ".git/info/x"), "")
}

// canary writes a secret in the project, or a file outside of it, whose text has %s where the
// canary comes, and returns its path.
func (o *openedOracle) canary(t *testing.T, text string) string {
	t.Helper()
	mark := fmt.Sprintf("CANARY%dz", len(o.canaries))
	file := filepath.Join(o.project, o.pick(".env", "certs/server.key", "src/.env"))
	if o.rnd.IntN(3) == 0 {
		file = filepath.Join(o.top, "other", "f"+mark)
	}
	o.canaries[mark] = file
	filetest.Write(t, file, strings.ReplaceAll(text, "%s", mark))
	return file
}

// link makes a link to a file, which is the file, or a folder with one of the same name.
func (o *openedOracle) link(t *testing.T, to, at string) {
	t.Helper()
	at = filepath.Join(o.project, at)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(at)
	if rel, err := filepath.Rel(filepath.Dir(at), to); err == nil && o.rnd.IntN(2) == 0 {
		to = rel
	}
	o.linked = at
	if o.rnd.IntN(2) == 0 {
		o.before = o.makesLink(t, to, at)
		return
	}
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// makesLink returns commands that make a link, which a later part of the same call reads.
func (o *openedOracle) makesLink(t *testing.T, to, at string) string {
	t.Helper()
	stage := filepath.Join(o.top, "stage")
	if err := os.RemoveAll(stage); err != nil {
		t.Fatal(err)
	}
	ready := filepath.Join(stage, filepath.Base(at))
	if err := os.MkdirAll(stage, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, ready); err != nil {
		t.Fatal(err)
	}
	switch dir := filepath.Dir(at); o.rnd.IntN(5) {
	case 0:
		return "mv " + ready + " " + at + "; "
	case 1:
		return "cp -a " + ready + " " + dir + "; "
	case 2:
		return "cd " + dir + "; ln -s " + to + " " + filepath.Base(at) + "; cd " + o.project + "; "
	case 3: // a folder that holds it
		return "cp -a " + dir + " " + dir + ".new; ln -s " + to + " " + dir + ".new/" + filepath.Base(at) + "; rm -r " + dir + "; mv " + dir + ".new " + dir + "; "
	default:
		return "ln -s " + to + " " + at + "; "
	}
}

// check compares what a command prints with its effects, and returns how many files it printed.
func (o *openedOracle) check(t *testing.T, text, cwd string) (printed int) {
	t.Helper()
	if o.before != "" {
		text = o.before + "cd " + cwd + "; " + text
	}
	c := &effects.Call{Cwd: cwd, User: effects.User{UID: uint32(os.Getuid()), Name: "ana", Home: o.top, Env: map[string]string{"HOME": o.top}}}
	env := paths.Environment{FS: paths.NewIndex(paths.OSFS{}, time.Now)}
	b := NewBuilder(env, effectstest.Table(t), c, paths.NewResolver(env, c))
	Text(b, text, cwd, "command")
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir, cmd.Env = cwd, o.env
	out, _ := cmd.CombinedOutput()
	unknown := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
	for mark, file := range o.canaries {
		if !strings.Contains(string(out), mark) {
			continue
		}
		printed++
		if !unknown && !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
			return e.Kind == effects.KindRead && e.File != nil && (e.File.Path == file || e.File.Recursive && lexpath.In(e.File.Path, file)) &&
				(e.Tags.Has(effects.Secret) || !lexpath.In(o.project, e.File.Path))
		}) {
			t.Errorf("seed %d: %s in %s prints %s by the link %s, which no effect has", o.seed, text, cwd, file, o.linked)
			for i := range b.Effects {
				t.Log(b.Effects[i].Text)
			}
		}
	}
	return printed
}

// TestIgnoreLinksOracle: rg and fd print the lines of ignore files that are no patterns.
func TestIgnoreLinksOracle(t *testing.T) {
	o := newOpenedOracle(t, "rg")
	commands := []string{"rg hello", "rg --files", "rg -t py x", "rg --debug hello", "rg -l hello", "rg hello README.md"}
	if _, err := exec.LookPath("fdfind"); err == nil {
		commands = append(commands, "fdfind --show-errors .", "fdfind --show-errors -H .", "fdfind --show-errors x src")
	}
	rounds, printed := testload.Rounds(t, "PERMD_TEST_OPENED", 24, 1000), 0
	for i := 0; anotherRound(i, rounds, printed); i++ {
		o.reset(t)
		for _, f := range []string{"README.md", "src/a.py", "src/deep/b.py", "vendor/x/c.py", "nested/.git/HEAD", "nested/d.py"} {
			filetest.Write(t, filepath.Join(o.project, f), "hello\n")
		}
		at := o.pick("", "", "src/", "src/deep/", "vendor/x/", "nested/", "../") + o.pick(".ignore", ".gitignore", ".rgignore", ".fdignore", ".git/info/exclude")
		if strings.Contains(at, "../.git/") {
			continue
		}
		to := o.canary(t, "A=%s[x\n")
		if at[0] == '.' && at[1] == '.' {
			// Above the project a link is the person's own: only a secret counts.
			to = filepath.Join(o.project, ".env")
			o.canaries = map[string]string{"CANARY0z": to}
			filetest.Write(t, to, "A=CANARY0z[x\n")
		}
		if strings.HasSuffix(at, "exclude") && o.rnd.IntN(3) == 0 {
			dir := filepath.Join(o.top, "other", "info")
			filetest.Write(t, filepath.Join(dir, "exclude"), "A=CANARY9z[x\n")
			o.canaries["CANARY9z"] = filepath.Join(dir, "exclude")
			info := filepath.Join(o.project, filepath.Dir(at))
			if err := os.RemoveAll(info); err != nil {
				t.Fatal(err)
			}
			o.link(t, dir, filepath.Dir(at))
		} else {
			o.link(t, to, at)
		}
		text, cwd := commands[o.rnd.IntN(len(commands))], o.project
		switch o.rnd.IntN(4) {
		case 0:
			cwd = filepath.Join(o.project, "src")
			if strings.HasSuffix(text, " src") || strings.HasSuffix(text, ".md") {
				cwd = o.project
			}
		case 1:
			if strings.HasPrefix(text, "rg") && !strings.HasSuffix(text, ".md") {
				text += " src"
			}
		}
		printed += o.check(t, text, cwd)
		_ = os.Remove(filepath.Join(o.top, filepath.Base(at)))
	}
	if printed == 0 {
		t.Errorf("seed %d: %d files printed in %d rounds", o.seed, printed, rounds)
	}
}

// anotherRound reports whether there is another round: of a few rounds it may be that none prints a
// file, which would prove nothing.
func anotherRound(round, rounds, printed int) bool {
	return round < rounds || printed == 0 && round < 10*rounds
}

// TestGoLinksOracle: go prints of a source what it does not understand.
func TestGoLinksOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the go command, which loads packages; TestIgnoreLinksOracle is the quick one")
	}
	o := newOpenedOracle(t, "go")
	rounds, printed := testload.Rounds(t, "PERMD_TEST_OPENED", 10, 400), 0
	for i := 0; anotherRound(i, rounds, printed); i++ {
		o.reset(t)
		filetest.Write(t, filepath.Join(o.project, "go.mod"), "module example.com/m\n\ngo 1.20\n")
		filetest.Write(t, filepath.Join(o.project, "a/a.go"), "package a\n")
		filetest.Write(t, filepath.Join(o.project, "b/b.go"), "package b\n\nimport _ \"example.com/m/a\"\n")
		to := o.canary(t, o.pick("%s\n", "package a\n\nvar K = \"%s\"\n", "// Package a is %s.\npackage a\n"))
		if o.rnd.IntN(4) == 0 {
			dir := filepath.Join(o.top, "other", "lib")
			filetest.Write(t, filepath.Join(dir, "l.go"), "// Package l is CANARY9z.\npackage l\n\nvar K = \"CANARY9z\"\n")
			o.canaries["CANARY9z"] = filepath.Join(dir, "l.go")
			o.link(t, dir, "a/lib")
		} else {
			o.link(t, to, o.pick("z.go", "a/z.go", "c/z.go", "b/d/z.go"))
		}
		where := o.pick("./...", "", ".", "./a", "./b", "./c", "./a/lib", "all", "example.com/m/...", "./b/d")
		text := o.pick("go list ", "go list -e ", "go list -json ", "go list -e -json ", "go list -f '{{.Doc}}' ", "go list -deps ") + where
		if o.rnd.IntN(3) == 0 && !strings.Contains(where, "...") && where != "all" {
			text = o.pick("go doc ", "go doc -all ", "go doc -src -u ") + where + o.pick("", " K")
		}
		printed += o.check(t, text, filepath.Join(o.project, o.pick("", "", "a")))
	}
	if printed == 0 {
		t.Errorf("seed %d: %d files printed in %d rounds", o.seed, printed, rounds)
	}
}

// TestNpmLinksOracle: npm prints of a package.json what it does not understand, and names and
// versions of the others.
func TestNpmLinksOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs npm; TestIgnoreLinksOracle is the quick one")
	}
	o := newOpenedOracle(t, "npm")
	rounds, printed := testload.Rounds(t, "PERMD_TEST_OPENED", 2, 300), 0
	for i := 0; anotherRound(i, rounds, printed); i++ {
		o.reset(t)
		filetest.Write(t, filepath.Join(o.project, "package.json"), `{"name":"shop","version":"1.0.0","workspaces":`+o.pick(`["packages/*"]`, `["packages/*"]`, `{"packages":["packages/**"]}`, `["./packages/a","packages/b"]`, `["pack*/a"]`)+`}`)
		for _, name := range []string{"packages/b", "packages/a", "node_modules/c", "node_modules/@s/d"} {
			filetest.Write(t, filepath.Join(o.project, name, "package.json"), `{"name":"`+strings.TrimPrefix(strings.TrimPrefix(name, "node_modules/"), "packages/")+`","version":"1.0.0"}`)
		}
		to := o.canary(t, o.pick("KEY=%s\n", `{"name":"%s","version":"1.0.0","description":"%s"}`))
		switch o.rnd.IntN(4) {
		case 0:
			dir := filepath.Join(o.top, "other", "lib")
			filetest.Write(t, filepath.Join(dir, "package.json"), o.pick(`{"name":"CANARY9z","version":"1.0.0"}`, "CANARY9z\n"))
			o.canaries["CANARY9z"] = filepath.Join(dir, "package.json")
			o.link(t, dir, o.pick("packages/e", "node_modules/e", "node_modules/@s/e"))
		case 1:
			o.link(t, to, o.pick("package-lock.json", "npm-shrinkwrap.json", "node_modules/.package-lock.json", "yarn.lock", "package.json"))
		default:
			o.link(t, to, o.pick("packages/a", "packages/a", "packages/b", "node_modules/c", "node_modules/@s/d")+"/package.json")
		}
		printed += o.check(t, o.pick("npm ls", "npm ls --all", "npm ls -l --json", "npm explain c", "npm fund", "npm outdated", "npm pkg get", "npm ls --json"), filepath.Join(o.project, o.pick("", "", "packages/b")))
	}
	if printed == 0 {
		t.Errorf("seed %d: %d files printed in %d rounds", o.seed, printed, rounds)
	}
}

// TestPipLinksOracle: pip prints what the packages of a folder say.
func TestPipLinksOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs pip; TestIgnoreLinksOracle is the quick one")
	}
	o := newOpenedOracle(t, "pip")
	if out := o.run("pip --version"); !strings.HasPrefix(out, "pip ") {
		t.Skip("pip does not run: " + out)
	}
	rounds, printed := testload.Rounds(t, "PERMD_TEST_OPENED", 2, 200), 0
	for i := 0; anotherRound(i, rounds, printed); i++ {
		o.reset(t)
		filetest.Write(t, filepath.Join(o.project, "d/y-1.0.dist-info/METADATA"), "Metadata-Version: 2.1\nName: y\nVersion: 1.0\n")
		to := o.canary(t, o.pick("%s\n", "Name: y\nVersion: 1.0\nSummary: %s\n\n%s\n"))
		if o.rnd.IntN(4) == 0 {
			dir := filepath.Join(o.top, "other", "z")
			filetest.Write(t, filepath.Join(dir, "METADATA"), "Metadata-Version: 2.1\nName: CANARY9z\nVersion: 1.0\n")
			o.canaries["CANARY9z"] = filepath.Join(dir, "METADATA")
			o.link(t, dir, "d/z-1.0.dist-info")
		} else {
			o.link(t, to, "d/y-1.0.dist-info/"+o.pick("INSTALLER", "INSTALLER", "METADATA", "RECORD", "direct_url.json"))
		}
		printed += o.check(t, o.pick("pip inspect --path=d", "pip list -v --path=d", "pip list --path d", "pip freeze --path=d", "pip3 inspect --path ./d"), o.project)
	}
	if printed == 0 {
		t.Errorf("seed %d: %d files printed in %d rounds", o.seed, printed, rounds)
	}
}

// run returns what a command prints in the temporary folder.
func (o *openedOracle) run(text string) string {
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir, cmd.Env = o.top, o.env
	out, _ := cmd.Output()
	return string(out)
}
