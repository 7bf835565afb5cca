package shell

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/testload"
)

// TestShellOracle compares the folders and words of a text's run effects with those
// of the commands that real shells run. PERMD_TEST_SHELL_TEXTS is how many texts
// are made, PERMD_TEST_SHELL_SEED the seed of the first.
func TestShellOracle(t *testing.T) {
	t.Parallel()
	few, seed := 20, 1
	if testing.Short() {
		few = 5
	}
	texts := testload.Rounds(t, "PERMD_TEST_SHELL_TEXTS", few, 60)
	if n, err := strconv.Atoi(os.Getenv("PERMD_TEST_SHELL_SEED")); err == nil {
		seed = n
	}
	o := newShellOracle(t)
	walked, unknown := 0, 0
	for i := range texts {
		g := textMaker{Rand: rand.New(rand.NewPCG(uint64(seed+i), 0)), root: o.root}
		text := g.list(2, 4)
		for _, run := range o.check(t, text) {
			if walked++; run.Cwd == "" {
				unknown++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed+i)
		}
	}
	t.Logf("%d runs, %d of them in a folder that is not known", walked, unknown)
	if walked == 0 || unknown*2 > walked {
		t.Errorf("of %d runs, %d in a folder that is not known", walked, unknown)
	}
}

// shellOracle runs texts in real shells. The commands p and q of a text log their
// folder and words; q also fails.
type shellOracle struct {
	root   string
	shells [][]string
	table  *programs.Table
}

func newShellOracle(t *testing.T) *shellOracle {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := &shellOracle{root: root, table: effectstest.Table(t)}
	for _, dir := range []string{"a/b", "a/a", "b", "a/deep/er"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "file"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": "a/deep", "b/up": "../a"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, shell := range [][]string{
		{"bash", "--norc", "-c"}, {"dash", "-c"}, {"zsh", "-f", "-c"}, {"busybox", "sh", "-c"}, {"zsh", "-f"}, {"bash", "--norc"},
	} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			t.Logf("%s is not installed", shell[0])
			continue
		}
		o.shells = append(o.shells, shell)
	}
	if len(o.shells) == 0 {
		t.Skip("no shell is installed")
	}
	return o
}

// oraclePrelude defines p and q. It ends a text that runs too long, since the
// beginning of a run is enough.
const oraclePrelude = `p() { printf '%s|%s\n' "$PWD" "$1${2+|$2}${3+|$3}${4+|$4}${5+|$5}" >&9; : $((n9 += 1)); [ "$n9" -lt 60 ] || kill -9 -$$; }
q() { p "$@"; return 1; }
n9=0
`

// check runs a text in all shells and returns its run effects.
func (o *shellOracle) check(t *testing.T, text string) []*effects.Run {
	t.Helper()
	b := onDisk(o.table, o.root+"/a", o.root, text)
	found := map[string][]*effects.Run{}
	var runs []*effects.Run
	for i := range b.Effects {
		e := &b.Effects[i]
		if e.Kind == effects.KindUnknown && (strings.Contains(e.Why, "cannot be parsed") || strings.Contains(e.Why, "more commands")) {
			return nil
		}
		if r := e.Run; r != nil && (r.Program == "p" || r.Program == "q") && len(r.Args) > 0 {
			found[r.Args[0]] = append(found[r.Args[0]], r)
			runs = append(runs, r)
		}
	}
	for _, shell := range o.shells {
		for _, line := range o.run(t, shell, text) {
			words := strings.Split(line, "|")
			if len(words) < 2 || !slices.ContainsFunc(found[words[1]], func(r *effects.Run) bool { return ranAs(r, words) }) {
				t.Errorf("%s: a command that was not found: %q\n%s", shell, words, text)
				for i := range b.Effects {
					t.Log(b.Effects[i].Text, b.Effects[i].Run)
				}
				return runs
			}
		}
	}
	return runs
}

// ranAs reports whether a shell logged the folder and the words of a run.
func ranAs(r *effects.Run, reported []string) bool {
	if r.Cwd != "" {
		folder, err := filepath.EvalSymlinks(r.Cwd)
		real, err2 := filepath.EvalSymlinks(reported[0])
		if err != nil || err2 != nil || folder != real {
			return false
		}
	}
	return slices.Contains(r.Args, effects.DynamicWord) || slices.Equal(r.Args, reported[1:]) ||
		slices.ContainsFunc(r.Args, func(arg string) bool { return strings.ContainsAny(arg, "*?[") })
}

// run returns what a text logs in a shell.
func (o *shellOracle) run(t *testing.T, shell []string, text string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	whole := fmt.Sprintf("exec 9>>'%s'\n%s%s\n", log.Name(), oraclePrelude, text)
	args := slices.Clone(shell[1:])
	cmd := exec.CommandContext(ctx, shell[0])
	if len(args) > 0 && args[len(args)-1] == "-c" {
		args = append(args, whole)
	} else {
		cmd.Stdin = strings.NewReader(whole)
	}
	cmd.Args = append(cmd.Args, args...)
	cmd.Dir = o.root
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + o.root + "/a", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the text may fail
	// Its background processes end with it.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	data, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool { return line == "" })
}

// textMaker makes shell texts with much control flow.
type textMaker struct {
	*rand.Rand
	root  string
	n     int // uses of p and q so far
	loops int
}

func (g *textMaker) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *textMaker) folder() string {
	return g.pick("a", "b", "..", ".", "a/b", "nope", "link", "link/..", "link/er", "nope/../a", "a/../b", "-", "../a", "../b", "er", "file",
		g.root, g.root+"/a", g.root+"/b", g.root+"/link", g.root+"/nope", g.root+"/b/up/..", "$v", `"$w"`, "a*", "", "-P link", "-P ..", "-- a", "~", "'b'", `b""`)
}

func (g *textMaker) report() string {
	g.n++
	return fmt.Sprintf("%s %d%s", g.pick("p", "p", "q"), g.n, g.pick("", "", "", " $v", ` "$v"`, ` "$v$w"`, " no*match", " $PWD", " ${w}x"))
}

func (g *textMaker) redirect() string {
	return g.pick("<nope", "<file", ">/dev/null", "2>/dev/null", ">nope/x", "<<E\nx\nE\n", "2>&1", "<a", "3<nope")
}

func (g *textMaker) list(depth, most int) string {
	var text strings.Builder
	for i := range 1 + g.IntN(most) {
		if i > 0 {
			text.WriteString(g.pick("; ", "\n", "\n", "; ", "\n", " && ", " && ", " || ", " || ", " & "))
		}
		text.WriteString(strings.TrimSuffix(g.command(depth), "\n"))
	}
	if strings.Contains(text.String(), "<<E") {
		return g.list(depth, most) // its text begins on the next line
	}
	return text.String()
}

func (g *textMaker) command(depth int) string {
	if depth > 0 && g.IntN(2) == 0 {
		return g.compound(depth - 1)
	}
	switch g.IntN(14) {
	case 0, 1, 2, 3:
		return g.report()
	case 4, 5, 6, 7:
		return g.pick("cd ", "cd ", "cd ", `\cd `, "'cd' ", "c\"d\" ", "command cd ", "builtin cd ", "! cd ", "time -p cd ") + g.folder()
	case 8:
		return "cd " + g.folder() + " " + g.redirect()
	case 9:
		return g.pick("v=", "w=", "v=", "export v=", "v=a w=") + g.pick("a", "b", "nope", "$w", "'a b'", "$v/b", "..", "$(echo b)", "$PWD", "")
	case 10:
		return g.pick("read v <file", "unset v", `\read -r w <file`, "read v <nope", "echo b | read v", "set -e", "set -u", "export w")
	case 11:
		if g.loops > 0 {
			return g.pick("break", "continue", "break 2", "continue 2", `\break`, "command break", "break >/dev/null", "break <nope")
		}
		return g.pick(":", "true", "false")
	case 12:
		return g.pick("exit", "return", "exit 3", "exit <nope", ":", "false", "command exit")
	default:
		return g.report() + " " + g.redirect()
	}
}

func (g *textMaker) compound(depth int) string {
	end := g.pick("\n", "; ")
	inner := func() string { return g.list(depth, 2) + end }
	loop := func() string {
		g.loops++
		defer func() { g.loops-- }()
		return g.report() + "\n" + inner()
	}
	var text string
	switch g.IntN(13) {
	case 0, 1:
		text = "if " + inner() + "then " + inner() + g.pick("fi", "else "+inner()+"fi", "elif "+inner()+"then "+inner()+"fi")
	case 2, 3:
		g.loops++
		cond := inner()
		g.loops--
		text = g.pick("while ", "until ") + cond + "do " + loop() + "done"
	case 4, 5, 6:
		text = "for " + g.pick("v", "w", "x") + " in " + g.pick("a b", "a", "a 'a b' b", "$v", "*", `"$w" b`, "$(echo a b)", "") + "; do " + loop() + "done"
	case 7:
		text = "case " + g.pick("a", "$v", "b") + " in a) " + inner() + g.pick(";;", ";;", ";&") + " $w) " + inner() + ";; " + g.pick("", "*) "+inner()+";; ") + "esac"
	case 8:
		text = "(" + inner() + ")"
	case 9:
		text = "{ " + inner() + "}"
	case 10:
		text = "{ " + inner() + "} | { " + inner() + "}"
	case 11:
		return "{ { " + inner() + "} & wait; }"
	default:
		text = g.pick("! ", "") + "{ " + inner() + "}" + g.pick(" && ", " || ") + "{ " + inner() + "}"
	}
	if g.IntN(5) == 0 && !strings.HasSuffix(text, "&") {
		text += " " + g.pick("<nope", ">/dev/null", ">nope/x", "<file", "2>&1")
	}
	return text
}
