package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// stagedGuarded returns which guarded files a call has staged, as real git shows them, that were not
// staged before.
func (w *place) stagedGuarded(ctx context.Context) []string {
	var did []string
	now := w.stagedNow(ctx)
	for line := range now {
		_, name, _ := strings.Cut(line, "\t")
		if !w.staged[line] && paths.Guarded().Match(lexpath.Fold(filepath.Join(w.project, name)), "") != 0 {
			did = append(did, "stages "+name)
		}
	}
	for line := range w.staged {
		_, name, _ := strings.Cut(line, "\t")
		if !now[line] && paths.Guarded().Match(lexpath.Fold(filepath.Join(w.project, name)), "") != 0 {
			did = append(did, "no longer stages "+name)
		}
	}
	return did
}

// stagedNow returns the lines of git ls-files --stage.
func (w *place) stagedNow(ctx context.Context) map[string]bool {
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "ls-files", "--stage", "-z")
	cmd.Dir, cmd.Env = w.project, append(w.env(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	asUser(cmd)
	out, _ := cmd.Output() // nothing where there is no repository
	all := map[string]bool{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		all[line] = true
	}
	return all
}
