package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// trial is one run of the comparison, over any number of programs.
type trial struct {
	limit   time.Duration
	until   time.Time
	max     int           // forms of one program, 0 for all
	each    time.Duration // how long one program may take, 0 for ever
	keep    bool
	verbose bool
	path    string // further folders of the PATH
	random  int    // how many random forms of each program are run, 0 for the table's
	seed    uint64 // of the random forms
	posix   bool   // programs run with POSIXLY_CORRECT
	linked  bool   // the project of the next repository is a linked working tree

	table *table
	judge *judge
	// plain has an ordinary project, bad one with hostile files.
	plain, bad *place
}

// programResult is the result of one program.
type programResult struct {
	Name      string   `json:"name"`
	Version   string   `json:"version,omitempty"`
	Missing   string   `json:"missing,omitempty"` // why it was not tried
	Forms     int      `json:"forms"`             // how many were run
	Asked     int      `json:"asked"`             // how many permd does not allow without a person
	Untried   []string `json:"untried,omitempty"` // forms that ended with an error wherever they ran
	Noticed   []string `json:"noticed,omitempty"` // hostile files that make permd ask
	Explained []string `json:"explained,omitempty"`
	Findings  []string `json:"findings,omitempty"`
}

// run tries the programs, and calls each with the result of each program.
func (t *trial) run(ctx context.Context, names []string, each func(*programResult)) error {
	dir, err := os.MkdirTemp("", "permd-programs-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return fmt.Errorf("opening a folder: %w", err)
	}
	if t.keep {
		fmt.Fprintln(os.Stderr, "folder:", dir)
	} else {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if t.table, err = readTable(); err != nil {
		return err
	}
	if t.judge, err = newJudge(ctx, dir); err != nil {
		return err
	}
	if t.plain, err = newPlace(ctx, filepath.Join(dir, "plain"), t.path); err != nil {
		return err
	}
	if t.bad, err = newPlace(ctx, filepath.Join(dir, "bad"), t.path); err != nil {
		return err
	}
	t.plain.posix, t.bad.posix = t.posix, t.posix
	for _, name := range names {
		o, err := t.program(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		each(o)
	}
	return nil
}

func (t *trial) program(ctx context.Context, name string) (*programResult, error) {
	o := &programResult{Name: name}
	_, err := t.find(name)
	switch {
	case t.table.programs[name] == nil:
		return nil, errors.New("it is not in the program table")
	case reason[name] != "":
		o.Missing = reason[name]
	case err != nil:
		o.Missing = "not installed"
	}
	if o.Missing != "" {
		o.Asked, o.Untried, err = t.allowed(ctx, name)
		return o, err
	}
	c := &checker{trial: t, name: name, found: map[string]int{}}
	c.forgive()
	done, start := map[string]bool{}, time.Now()
	forms := t.table.forms(name)
	if t.random > 0 {
		forms = t.table.random(name, t.seed, t.random*triesPerForm)
	}
	for _, f := range forms {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if time.Now().After(t.until) {
			o.Missing = "no time left for all forms"
			break
		}
		if t.max > 0 && o.Forms >= t.max || t.random > 0 && o.Forms >= t.random || t.each > 0 && time.Since(start) > t.each {
			break
		}
		ran, good, err := t.form(ctx, c, f.words)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quoted(f.words), err)
		}
		if !ran {
			o.Asked++
			continue
		}
		o.Forms++
		done[f.tries] = done[f.tries] || good
	}
	if o.Forms > 0 {
		o.Version = t.version(ctx, name)
	}
	for _, f := range forms {
		if good, tried := done[f.tries]; tried && !good && !slices.Contains(o.Untried, f.tries) {
			o.Untried = append(o.Untried, f.tries)
		}
	}
	slices.Sort(c.noticed)
	o.Noticed, o.Explained, o.Findings = c.noticed, c.explained, c.findings()
	return o, nil
}

// allowed returns the forms of a program that permd allows in an ordinary project,
// and how many it does not allow. It is for programs that are not installed.
func (t *trial) allowed(ctx context.Context, name string) (asked int, tries []string, err error) {
	for _, f := range t.table.forms(name) {
		if ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		verdict, _, err := t.judge.decide(ctx, t.plain, f.words)
		switch {
		case err != nil:
			return 0, nil, fmt.Errorf("%s: %w", quoted(f.words), err)
		case verdict != decisions.Allow:
			asked++
		case !slices.Contains(tries, f.tries):
			tries = append(tries, f.tries)
		}
	}
	return asked, tries, nil
}

// find looks for a program in the PATH of the place's environment.
func (t *trial) find(name string) (string, error) {
	return findIn(programFolders(t.path), name)
}

func findIn(dirs []string, name string) (string, error) {
	for _, dir := range dirs {
		if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}

var number = regexp.MustCompile(`\d+\.\d+[0-9A-Za-z.+~-]*`)

// version asks a program for its version.
func (t *trial) version(ctx context.Context, name string) string {
	for _, arg := range []string{"--version", "version", "-V", "-version"} {
		ctx, cancel := context.WithTimeout(ctx, t.limit)
		cmd := exec.CommandContext(ctx, name, arg)
		cmd.Dir, cmd.Env = t.plain.project, t.plain.env()
		cmd.Path, cmd.Err = t.must(name), nil
		endGroup(cmd)
		out, err := cmd.CombinedOutput()
		cancel()
		first, _, _ := bytes.Cut(out, []byte("\n"))
		if v := number.Find(first); err == nil && v != nil {
			return string(v)
		}
	}
	return ""
}

func (t *trial) must(name string) string {
	file, _ := t.find(name)
	return file
}

// form tries one command line that permd allows in an ordinary project. It runs
// with all hostile files with which permd still allows it, and if it fails there,
// in the ordinary project. It reports whether it ran, and ended by itself.
func (t *trial) form(ctx context.Context, c *checker, words []string) (ran, good bool, err error) {
	verdict, list, err := t.judge.decide(ctx, t.plain, words)
	if errors.Is(err, errUndecided) && t.random > 0 {
		c.note("FAILS", "to decide", words)
		return false, false, nil
	}
	if err != nil || verdict != decisions.Allow {
		return false, false, err
	}
	if t.random > 0 {
		// What a hostile file does is tried with forms that end well.
		good, err = t.try(ctx, c, t.plain, words, list)
		return true, good, err
	}
	bad, err := c.unnoticed(ctx, words)
	if err != nil {
		return false, false, err
	}
	if bad != nil {
		if good, err = t.try(ctx, c, t.bad, words, bad); err != nil || good {
			return true, good, err
		}
	}
	good, err = t.try(ctx, c, t.plain, words, list)
	if err == nil && good {
		err = c.apart(ctx, words)
	}
	return true, good, err
}

func (t *trial) try(ctx context.Context, c *checker, w *place, words []string, list []effects.Effect) (bool, error) {
	r, err := trace(ctx, w, words, t.limit)
	if err != nil {
		return false, err
	}
	before := len(c.found)
	changed := c.check(w, words, r, list)
	if t.verbose {
		fmt.Fprintf(os.Stderr, "  %s: exit code %d with %d hostile files, new differences: %d\n", quoted(words), r.exit, len(w.now), len(c.found)-before)
	}
	if changed {
		err = w.renew(ctx)
	}
	return r.exit == 0 || r.exit == 1 && saysNo[c.name], err
}

// saysNo are programs for which exit code 1 is an answer, such as grep that found
// nothing.
var saysNo = map[string]bool{
	"grep": true, "egrep": true, "fgrep": true, "rg": true, "ag": true, "ack": true, "diff": true, "cmp": true, "test": true, "[": true, "expr": true, "zgrep": true, "xzgrep": true,
	"pgrep": true, "which": true, "whereis": true, "false": true, "shellcheck": true, "yamllint": true, "lsof": true, "type": true, "pidof": true, "zstd": true, "fd": true, "fdfind": true,
}

// quoted returns a command line, quoted for a shell.
func quoted(words []string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`&|;<>(){}*?[]#~=!") && w != "[" && w != "]" {
			all[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(all, " ")
}
