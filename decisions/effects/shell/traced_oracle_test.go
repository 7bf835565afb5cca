package shell

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// tracedOracle runs commands under strace, which tells what files they opened.
type tracedOracle struct {
	top, project string
	env          []string
	seed         uint64
	rnd          *rand.Rand
}

// newTracedOracle skips the test if strace, or one of the programs, is missing.
func newTracedOracle(t *testing.T, programs ...string) *tracedOracle {
	t.Helper()
	if out, err := exec.Command("strace", "-qq", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace is missing or may not trace: %v, %s", err, out)
	}
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
	o := &tracedOracle{top: top, project: filepath.Join(top, "p"), seed: testload.Seed(t)}
	o.rnd = rand.New(rand.NewPCG(o.seed, 7))
	for _, file := range []string{".git/objects/x", ".git/refs/x"} {
		o.write(t, file, "")
	}
	o.write(t, ".git/HEAD", "ref: refs/heads/main\n")
	o.env = append(gitEnv(top), "PATH="+path, "LC_ALL=C.UTF-8", "GOCACHE="+filepath.Join(t.TempDir(), "cache"), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOPATH="+filepath.Join(top, "go"), "TMPDIR="+t.TempDir())
	return o
}

func (o *tracedOracle) pick(list ...string) string { return list[o.rnd.IntN(len(list))] }

func (o *tracedOracle) write(t *testing.T, file, text string) {
	t.Helper()
	filetest.Write(t, filepath.Join(o.project, file), text)
}

// link makes a link of the project, whose target is as it is given.
func (o *tracedOracle) link(t *testing.T, to, at string) {
	t.Helper()
	at = filepath.Join(o.project, at)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// traced are what strace saw: regular files that were opened, by the names that the system has
// for them, and the first words of other calls.
type traced struct{ reads, writes, connects []string }

var (
	tracedOpen    = regexp.MustCompile(`^[0-9]+ +(?:open|openat|creat)\(.*?(O_[A-Z_|]+).* = [0-9]+<([^>]*)>$`)
	tracedConnect = regexp.MustCompile(`^[0-9]+ +connect\(.*(AF_INET6?.*)\) = `)
)

// trace runs a command, and returns the files below the temporary folder that it opened.
func (o *tracedOracle) trace(t *testing.T, text, cwd string) (found traced) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	c := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-y", "-s", "4096", "-e", "signal=none", "-e", "trace=open,openat,creat,connect", "-o", log, "bash", "-c", text)
	c.Dir, c.Env = cwd, o.env
	_, _ = c.CombinedOutput() // what the words mean nothing for is an error
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if m := tracedConnect.FindStringSubmatch(line); m != nil {
			found.connects = append(found.connects, m[1])
		}
		m := tracedOpen.FindStringSubmatch(line)
		if m == nil || !lexpath.In(o.top, m[2]) {
			continue
		}
		if strings.Contains(m[1], "O_WRONLY") || strings.Contains(m[1], "O_RDWR") {
			found.writes = append(found.writes, m[2])
		} else if info, err := os.Stat(m[2]); err == nil && info.Mode().IsRegular() {
			found.reads = append(found.reads, m[2])
		}
	}
	return found
}

// covers reports whether the effects have one of the kind for a file. A call that is not
// understood asks.
func covers(list []effects.Effect, kind effects.Kind, file string) bool {
	return slices.ContainsFunc(list, func(e effects.Effect) bool {
		return e.Kind == effects.KindUnknown || e.Kind == kind && e.File != nil && (e.File.Path == file || e.File.Recursive && lexpath.In(e.File.Path, file))
	})
}

// check compares what a command opens in the project, or of a secret, with its effects and with
// what denies see. It returns how many files that is. Files that ignore leads to are none,
// and with .git/ in it no writes there.
func (o *tracedOracle) check(t *testing.T, text, cwd string, ignore ...string) (opened int) {
	t.Helper()
	c := &effects.Call{Cwd: cwd, User: effects.User{UID: uint32(os.Getuid()), Name: "ana", Home: o.top, Env: map[string]string{"HOME": o.top}}}
	x := paths.NewIndex(paths.OSFS{}, time.Now)
	x.Background = func(task func()) { task() }
	env := paths.Environment{FS: x}
	b := NewBuilder(env, effectstest.Table(t), c, paths.NewResolver(env, c))
	Text(b, text, cwd, "command")
	seen := append(append(slices.Clone(b.Effects), b.Asides...), b.Opened...)
	found := o.trace(t, text, cwd)
	fail := func(what, file string) {
		t.Errorf("seed %d: %s in %s %s %s, which no effect has", o.seed, text, cwd, what, file)
		for i := range seen {
			t.Log(seen[i].Text)
		}
	}
	for _, file := range found.reads {
		name := lexpath.Shorten(o.project, file)
		if slices.ContainsFunc(ignore, func(i string) bool { return name == i || strings.HasPrefix(name, i) }) || !lexpath.In(o.project, file) && !strings.Contains(file, "/.aws/") {
			continue
		}
		opened++
		if strings.Contains(file, "/.env") || strings.Contains(file, "/.aws/") {
			secret := slices.DeleteFunc(slices.Clone(b.Effects), func(e effects.Effect) bool { return e.Kind == effects.KindRead && !e.Tags.Has(effects.Secret) })
			if !covers(secret, effects.KindRead, file) {
				fail("opens the secret", file)
			}
		} else if !covers(seen, effects.KindRead, file) {
			fail("opens", file)
		}
	}
	for _, file := range found.writes {
		if !lexpath.In(o.project, file) && filepath.Dir(file) != o.top || slices.Contains(ignore, ".git/") && lexpath.In(filepath.Join(o.project, ".git"), file) {
			continue
		}
		if opened++; !covers(seen, effects.KindWrite, file) {
			fail("writes", file)
		}
	}
	return opened
}

// TestGoOpensOracle: go version opens all files below a folder, and those that links lead to;
// go mod why the sources of the module.
func TestGoOpensOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the go command, which loads packages")
	}
	o := newTracedOracle(t, "go")
	o.write(t, "go.mod", "module example.com/m\n\ngo 1.20\n")
	o.write(t, "a/a.go", "package a\n\nimport _ \"example.com/m/locked\"\n")
	o.write(t, "locked/l.go", "package l\n\nimport _ \"net/http\"\n")
	o.write(t, "sub/deep/x.bin", "x\n")
	o.write(t, ".aws/tool", "x\n")
	o.write(t, "sub/.env", "KEY=x\n")
	o.link(t, "../.aws/tool", "k/t")
	o.link(t, "../sub/.env", "lk/a.go")
	o.link(t, "../sub/.env", "lk/x.bin")
	o.link(t, "../.aws", "k/d")
	for _, file := range []string{"sub/deep/x.bin", ".aws/tool"} {
		if err := os.Chmod(filepath.Join(o.project, file), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	opened := 0
	for range testload.Rounds(t, "PERMD_TEST_OPENED", 8, 300) {
		text := "go version" + o.pick("", " -m", " -v", " -m -v") + " " + o.pick(".", "./sub", "sub", "k", "lk", "lk/x.bin", "..", "./k/t", "k/d", "k/d/", "sub/deep/x.bin", "a locked")
		if o.rnd.IntN(2) == 0 {
			text = "go mod why" + o.pick("", " -m", " -vendor") + " " + o.pick("net/http", "x", "example.com/m/a", "example.com/m", "net/http fmt")
		}
		opened += o.check(t, text, filepath.Join(o.project, o.pick("", "", "a")), "go.mod", "go.sum", "go.work", ".git")
	}
	if opened == 0 {
		t.Errorf("seed %d: nothing was opened", o.seed)
	}
}
