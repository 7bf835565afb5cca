// Command hooks shows whether real agent harnesses obey permd's hooks. It starts
// each installed harness with a stand-in for its model, on the loopback only, which
// asks for one shell command. Before, permd hook install has set the harness up to
// ask a permd daemon of this run. The command makes a file, which shows whether it
// ran.
//
// It fails if a command ran that must not run, or did not run although it should.
// Harnesses come from npm. Those that cannot be run are printed with the reason.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	npm := flag.String("npm", "", "the folder with the node_modules of the harnesses (default: a new one, with -install)")
	install := flag.Bool("install", false, "install the harnesses into that folder with npm")
	latest := flag.Bool("latest", false, "with -install, the newest versions and not those of docs/hooks.md")
	only := flag.String("only", "", "only these harnesses, with commas")
	limit := flag.Duration("limit", 45*time.Second, "how long one run of a harness may take")
	within := flag.Duration("within", time.Hour, "what has not begun by then is not run, and named")
	slow := flag.Bool("slow", true, "also what waits for the time limits of harnesses")
	keep := flag.Bool("keep", false, "keep the folder with homes and logs")
	permd := flag.String("permd", "", "the permd that is tried (default: built from this module)")
	picture := flag.String("picture", "", "try nothing, but draw the screen of Claude Code, stopped by permd, into this SVG file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l := &live{npm: *npm, only: *only, limit: *limit, permd: *permd, keep: *keep, slow: *slow, latest: *latest, until: time.Now().Add(*within)}
	var ok bool
	var err error
	if *picture != "" {
		err = l.picture(ctx, *install, *picture)
		ok = err == nil
	} else {
		ok, err = l.run(ctx, *install)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "hooks: error: %v\n", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// row is one case of the table.
type row struct {
	name    string
	verdict string // what permd decides; "" if it is not asked
	bypass  bool   // the harness was told to ask nobody
	bare    bool   // the harness has no hook
	down    bool   // the daemon is not running
	gone    bool   // the permd program is gone
	hangs   bool   // the permd program hangs
	// managed: the organisation's settings have the hook, and the person's own
	// settings turn hooks off.
	managed bool
	// person is what a person says in a terminal while the hook waits: allow, deny or silence; ""
	// for a hook that waits for nobody.
	person string
	runs   string
}

// silence is a person who says nothing.
const silence = "silence"

// notSeen is the result of a run in which the harness called no tool.
const notSeen = "not seen"

// Whether the command must run.
const (
	must    = "yes"
	mustNot = "no"
	either  = "" // depends on the harness
)

var rows = []row{
	{name: "bare", bare: true, bypass: true, runs: must}, // shows that the command runs unless something stops it
	{name: "allow", verdict: "allow", runs: must},
	{name: "deny", verdict: "deny", runs: mustNot},
	{name: "ask", verdict: "ask", runs: mustNot}, // nobody is there to answer
	{name: "bypass", verdict: "ask", bypass: true, runs: mustNot},
	{name: "default", verdict: "ask", runs: either},
	{name: "down", down: true, runs: mustNot},
	{name: "gone", gone: true, runs: mustNot},
	{name: "hangs", bypass: true, hangs: true, runs: either}, // harnesses differ
	{name: "waits", verdict: "ask", person: "allow", runs: must},
	{name: "waits-no", verdict: "ask", person: "deny", runs: mustNot},
	{name: "in-vain", verdict: "ask", person: silence, bypass: true, runs: mustNot},
	{name: "managed", verdict: "ask", managed: true, bypass: true, runs: mustNot},
}

// what describes the rows, as in docs/hooks.md.
var what = map[string]string{
	"bare":     "no permd, and the harness was told to ask nobody",
	"allow":    "a rule allows it",
	"deny":     "a rule denies it",
	"ask":      "a rule asks",
	"bypass":   "a rule asks, and the harness was told to ask nobody",
	"default":  "nothing but the default asks",
	"down":     "a rule allows it, and the daemon is not running",
	"gone":     "a rule allows it, and the permd program is gone",
	"hangs":    "the permd program hangs, and the harness was told to ask nobody",
	"waits":    "a rule asks, the hook waits (`--wait`), and a person says `permd allow`",
	"waits-no": "a rule asks, the hook waits, and a person says `permd deny`",
	"in-vain":  "a rule asks, the hook waits, nobody answers, and the harness was told to ask nobody",
	"managed":  "a rule asks; the organisation's hook, a person who turned hooks off, and a harness that was told to ask nobody",
}

type live struct {
	npm, only, permd string
	limit            time.Duration
	keep, slow       bool
	latest           bool // install the newest versions
	until            time.Time

	dir        string
	model      *model
	daemon     *daemon
	namespaces bool // this process may make mount namespaces
}

func (l *live) run(ctx context.Context, install bool) (ok bool, err error) {
	if l.dir, err = os.MkdirTemp("", "permd-hooks"); err != nil {
		return false, err
	}
	defer func() {
		if l.keep || !ok {
			fmt.Printf("\nhomes and logs: %s\n", l.dir)
		} else {
			err = errors.Join(err, os.RemoveAll(l.dir))
		}
	}()
	if err := l.prepare(ctx, install); err != nil {
		return false, err
	}
	defer l.model.Close()
	defer l.daemon.stop()

	ok = true
	ran := 0
	var table [][]string
	for i := range harnesses {
		h := &harnesses[i]
		if l.only != "" && !strings.Contains(","+l.only+",", ","+h.name+",") {
			continue
		}
		version, err := l.version(ctx, h)
		if err != nil {
			fmt.Printf("NOT RUN: %s: %v\n", h.title, err)
			continue
		}
		ran++
		cells := []string{h.title + " " + version}
		for _, r := range rows {
			if r.hangs && !l.slow {
				cells = append(cells, "not run")
				continue
			}
			if time.Now().After(l.until) {
				fmt.Printf("NOT RUN: %s: %s: the time limit (-within) was reached\n", h.title, what[r.name])
				cells = append(cells, "not run")
				continue
			}
			got, good, err := l.try(ctx, h, r)
			if got == notSeen { // some harnesses wait for the network and give up, so try once more
				got, good, err = l.try(ctx, h, r)
			}
			if err != nil {
				return false, fmt.Errorf("%s, %s: %w", h.title, r.name, err)
			}
			if got == notSeen {
				fmt.Printf("NOT SEEN: %s: %s: the harness called no tool within %s; see %s\n", h.title, what[r.name], l.limit, filepath.Join(l.dir, h.name, r.name))
				l.keep = true
			}
			ok = ok && good
			cells = append(cells, got)
			fmt.Printf("%-12s %-8s %s\n", h.name, r.name, got)
		}
		table = append(table, cells)
	}
	fmt.Printf("NOT RUN: Cursor, Cline: they are editors and cannot run without a person\n\n")
	l.print(table)
	if ran == 0 {
		fmt.Println("\nno harness could be run")
		return false, nil
	}
	return ok, nil
}

// prepare starts model and daemon.
func (l *live) prepare(ctx context.Context, install bool) error {
	if l.permd == "" {
		l.permd = filepath.Join(l.dir, "bin", "permd")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", l.permd, "./cmd/permd").CombinedOutput(); err != nil {
			return fmt.Errorf("building permd: %w\n%s", err, out)
		}
	}
	var err error
	if l.permd, err = filepath.Abs(l.permd); err != nil {
		return err
	}
	if l.npm == "" {
		l.npm = filepath.Join(l.dir, "npm")
	}
	if l.npm, err = filepath.Abs(l.npm); err != nil {
		return err
	}
	if install {
		if err := l.install(ctx); err != nil {
			return err
		}
	}
	requests, err := os.Create(filepath.Join(l.dir, "model.log"))
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "unshare", append(withEtc("/"), "true")...).CombinedOutput(); err != nil {
		fmt.Printf("NOT RUN: the organisation's settings: cannot make a mount namespace for another /etc: %s\n", lastLine(out))
	} else {
		l.namespaces = true
	}
	l.daemon, err = startDaemon(ctx, l.permd, l.dir)
	l.model = newModel(log.New(requests, "", log.Ltime))
	return err
}

// install installs the harnesses with npm. One that cannot be installed is left
// out, and printed later.
func (l *live) install(ctx context.Context) error {
	if _, err := exec.LookPath("npm"); err != nil {
		fmt.Println("MISSING: npm: no harness can be installed")
		return nil
	}
	if err := writeFile(filepath.Join(l.npm, "package.json"), "{\"private\": true}\n"); err != nil {
		return err
	}
	for i := range harnesses {
		h := &harnesses[i]
		if l.only != "" && !strings.Contains(","+l.only+",", ","+h.name+",") {
			continue
		}
		version := h.seen
		if l.latest {
			version = "latest"
		}
		cmd := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--prefix", l.npm, h.pkg+"@"+version)
		cmd.Dir = l.npm
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Printf("MISSING: %s: npm install %s: %v: %s\n", h.title, h.pkg, err, lastLine(out))
		}
	}
	return nil
}

func (l *live) program(h *harness) string { return filepath.Join(l.npm, "node_modules", ".bin", h.bin) }

// version asks a harness for its version, which also shows whether it starts.
func (l *live) version(ctx context.Context, h *harness) (string, error) {
	if _, err := os.Stat(l.program(h)); err != nil {
		return "", fmt.Errorf("not installed (npm install %s)", h.pkg)
	}
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.program(h), "--version")
	cmd.Env = l.environment(h, filepath.Join(l.dir, h.name, "version"), l.daemon.run)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("does not start: %w", err)
	}
	for _, word := range strings.Fields(string(out)) {
		if word[0] >= '0' && word[0] <= '9' {
			return strings.TrimSuffix(word, "."), nil
		}
	}
	return "", errors.New("does not print its version")
}

// environment returns the whole environment of a harness: a home of its own, and no
// proxy that could lead out of this machine.
func (l *live) environment(h *harness, home, run string) []string {
	env := []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/bash", "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"NO_PROXY=127.0.0.1,localhost",
	}
	if h.env != nil && l.model != nil {
		env = append(env, h.env(l.model)...)
	}
	return env
}

func (l *live) print(table [][]string) {
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "did the command run?")
	for _, cells := range table {
		fmt.Fprintf(w, "\t%s", cells[0])
	}
	fmt.Fprintln(w)
	for i, r := range rows {
		fmt.Fprint(w, what[r.name])
		for _, cells := range table {
			fmt.Fprintf(w, "\t%s", cells[i+1])
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
