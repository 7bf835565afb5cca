package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// trial is one run of a harness.
type trial struct {
	row                        row
	base, home, project, permd string
	root                       string // the folder that the harness has as /etc, "" for the real one
	prompt                     string
	env                        []string
}

// try runs a harness once. It returns whether the command ran, as the table shows
// it, and whether that is the wanted result.
func (l *live) try(ctx context.Context, h *harness, r row) (got string, good bool, err error) {
	want, excepted := h.except[r.name]
	switch {
	case r.managed && excepted:
		return want, true, nil
	case r.managed && !l.namespaces, r.person != "" && h.drive != nil:
		return "not tried", true, nil
	case !excepted:
		want = r.runs
	}
	t, err := l.trial(h, r)
	if err != nil {
		return "", false, err
	}
	if err := h.setup(t.home, l.model, r.managed); err != nil {
		return "", false, err
	}
	if err := l.hook(ctx, h, t); err != nil {
		return "", false, err
	}
	l.model.seen()
	drive := h.drive
	if drive == nil {
		drive = (*live).start
	}
	answered := make(chan error, 1)
	if r.person != "" && r.person != silence {
		go func() { answered <- l.answer(ctx, t) }()
	} else {
		answered <- nil
	}
	text, ended := drive(l, ctx, h, t)
	if err := <-answered; err != nil {
		return "", false, err
	}
	asked, results, lost := l.model.seen()
	log := fmt.Sprintf("%s\nasked %d times\nresults: %q\nunanswered: %q\nended: %v\n", text, asked, results, lost, ended)
	if err := writeFile(filepath.Join(t.base, "output"), log); err != nil {
		return "", false, err
	}
	_, missing := os.Stat(filepath.Join(t.project, "ran-"+r.name))
	got = mustNot
	if missing == nil {
		got = must
	}
	if asked == 0 {
		// The harness called no tool.
		return notSeen, true, nil
	}
	if want != either && got != want {
		return got + " (WRONG)", false, nil
	}
	// The result must have the right reason: permd's verdict.
	verdict := r.verdict
	if excepted {
		verdict = ""
	}
	if decided, err := l.decided(ctx, t.project); err != nil || decided != verdict {
		return fmt.Sprintf("%s (WRONG: permd decided %q)", got, decided), false, err
	}
	if !l.keep {
		return got, true, os.RemoveAll(t.home)
	}
	return got, true, nil
}

// trial makes the folders for a run.
func (l *live) trial(h *harness, r row) (*trial, error) {
	base := filepath.Join(l.dir, h.name, r.name)
	t := &trial{
		row: r, base: base, home: filepath.Join(base, "home"), project: filepath.Join(base, "project"),
		permd:  filepath.Join(base, "permd of mine"), // with blanks, as people's folders have
		prompt: commandFrom + "touch ran-" + r.name + commandTo,
	}
	if r.managed {
		t.root = filepath.Join(base, "root")
	}
	run := l.daemon.run
	if r.down {
		run = filepath.Join(base, "run")
	}
	t.env = l.environment(h, t.home, run)
	if r.person != "" && h.name != "claude" { // Claude Code says it by itself
		t.env = append(t.env, "PERMD_UNATTENDED=1")
	}
	if err := os.RemoveAll(base); err != nil { // remove those of an earlier try
		return nil, err
	}
	for _, dir := range []string{t.home, filepath.Join(t.project, ".git"), run} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// decided returns the verdict that permd's journal has for the call in a project,
// "" if permd was not asked.
func (l *live) decided(ctx context.Context, project string) (string, error) {
	cmd := exec.CommandContext(ctx, l.permd, "log", "list", "--json")
	cmd.Env = []string{"HOME=" + l.daemon.home, "XDG_RUNTIME_DIR=" + l.daemon.run}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("reading permd's journal: %w", err)
	}
	verdict := ""
	for line := range bytes.Lines(out) {
		var record struct {
			Cwd      string
			Decision struct{ Verdict string }
		}
		if err := json.Unmarshal(line, &record); err != nil {
			return "", fmt.Errorf("reading permd's journal: %w", err)
		}
		if record.Cwd == project {
			verdict = record.Decision.Verdict
		}
	}
	return verdict, nil
}

// waitOf returns how long the hook of a row waits for a person, 0 for not at all. Nobody is waited for longer
// than harnesses let a hook run that has no limit in their settings.
func (l *live) waitOf(r row) time.Duration {
	switch {
	case r.person == silence && l.slow:
		return 70 * time.Second
	case r.person == silence:
		return 3 * time.Second
	case r.person != "":
		return 2 * time.Minute
	}
	return 0
}

// answer answers the question that a hook of the trial waits with, as a person in a terminal does.
func (l *live) answer(ctx context.Context, t *trial) error {
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	permd := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, l.permd, args...)
		cmd.Env = []string{"HOME=" + l.daemon.home, "XDG_RUNTIME_DIR=" + l.daemon.run}
		return cmd.Output()
	}
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		out, err := permd("allow", "--json")
		if err != nil {
			continue
		}
		for line := range bytes.Lines(out) {
			var question struct {
				ID    string `json:"decisionId"`
				Cwd   string
				Until time.Time
			}
			if err := json.Unmarshal(line, &question); err != nil {
				return fmt.Errorf("reading permd's questions: %w", err)
			}
			if question.Cwd != t.project || question.Until.IsZero() {
				continue
			}
			if _, err := permd(t.row.person, question.ID); err != nil {
				return fmt.Errorf("answering permd's question: %w", err)
			}
			return nil
		}
	}
	return nil // the result of the trial shows that nothing waited
}

// hook installs permd's hook for a trial. If the row wants that, the permd program
// that the hook names is then removed, or replaced by one that hangs.
func (l *live) hook(ctx context.Context, h *harness, t *trial) error {
	if t.row.bare {
		return nil
	}
	if err := os.Link(l.permd, t.permd); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, t.permd, "hook", "install", h.name, "--yes", "--no-service")
	if t.row.person != "" {
		cmd.Args = append(cmd.Args, "--wait", l.waitOf(t.row).String())
	}
	if t.row.managed {
		if err := os.Mkdir(t.root, 0o755); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, "cp", "-a", "/etc", filepath.Join(t.root, "etc")).CombinedOutput(); err != nil {
			return fmt.Errorf("copying /etc: %w\n%s", err, out)
		}
		cmd.Args = append(cmd.Args, "--managed", "--root", t.root)
	}
	cmd.Env = []string{"HOME=" + t.home, "XDG_RUNTIME_DIR=" + l.daemon.run, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("permd hook install: %w\n%s", err, out)
	}
	if t.row.gone || t.row.hangs {
		if err := os.Remove(t.permd); err != nil {
			return err
		}
	}
	if t.row.hangs {
		return os.WriteFile(t.permd, []byte("#!/bin/sh\nexec sleep 20\n"), 0o700)
	}
	return nil
}

// start runs a harness until it ends or its time limit is reached.
func (l *live) start(ctx context.Context, h *harness, t *trial) (string, error) {
	limit := l.limit
	if t.row.person == silence {
		limit += l.waitOf(t.row)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.program(h), h.args(t.prompt, t.row.bypass)...)
	if t.root != "" {
		cmd = exec.CommandContext(ctx, "unshare", append(withEtc(t.root), cmd.Args...)...)
	}
	cmd.Dir, cmd.Env = t.project, t.env
	// Kill the processes that the harness started too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// withEtc returns the words before a command that make it run in its own mount
// namespace, with another /etc.
func withEtc(root string) []string {
	return []string{"--mount", "--propagation", "private", "sh", "-c", `mount --bind "$0/etc" /etc && exec "$@"`, root}
}
