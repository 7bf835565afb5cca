package setup

import (
	"bytes"
	"os"
	"strings"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/findings"
)

// InspectHooks checks the configurations of harnesses: whether the permd that they
// run exists, and whether anything lets calls bypass it.
func InspectHooks(root string, x *findings.List) {
	home, err := account.Home()
	if err != nil {
		return // the check of folders reports it
	}
	for _, harness := range hookHarnesses() {
		for _, p := range hookPlaces(root, harness, home, hookOptions{}) {
			inspectHook(&p, x)
		}
	}
}

func inspectHook(p *configPlace, x *findings.List) {
	info, err := os.Stat(p.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfigFile {
		return // install does not handle such files either
	}
	text, err := os.ReadFile(p.path)
	if err != nil {
		if p.managed {
			return // only root can check it
		}
		x.Warn("hooks", "ls -l "+cli.Quote(p.path), "looking at %s: %v", p.path, err)
		return
	}
	if !strings.Contains(string(text), " hook "+p.name) {
		return
	}
	again := "permd hook install " + p.name
	if p.managed {
		again = "sudo permd hook install " + p.name + " --managed"
		if bytes.Contains(text, []byte(" hook "+p.name+systemFlag)) {
			again += systemFlag
		}
	}
	entries, err := p.edit.check(text)
	if err != nil {
		x.Error("hooks", cli.HintOf(err, again), "%v", isInFile(p, err))
		return
	}
	for _, program := range entries.programs {
		if !isProgram(program) {
			x.Error("hooks", again, "%s: %s runs %s, which is not an executable: every call is blocked", p.name, p.path, program)
			continue
		}
		if len(entries.problems) == 0 {
			x.OK("hooks", "%s: %s runs %s", p.name, p.path, program)
		}
	}
	if len(entries.programs) == 0 && len(entries.problems) == 0 && strings.Contains(string(text), "permd") {
		// Such as one that ends in || true.
		x.Warn("hooks", "check it, and then: "+again, "%s: %s has permd hook %s, but not as install writes it: calls may run when the hook fails", p.name, p.path, p.name)
	}
	if p.after != nil {
		if text, err := os.ReadFile(p.after.path); err != nil || !tellsAfter(p.after, text) {
			entries.silent = append(entries.silent, "PostToolUse")
		}
	}
	if len(entries.silent) > 0 && len(entries.programs) > 0 {
		x.Warn("hooks", again, "%s: %s: nothing tells permd at %s what has run, so questions wait on that are over", p.name, p.path, strings.Join(entries.silent, ", "))
	}
	if entries.pending != "" {
		x.Warn("hooks", entries.pending, "%s: %s: the harness has not noted that you trust the hook, and may not run it", p.name, p.path)
	}
	for _, problem := range entries.problems {
		x.Error("hooks", again, "%s: %s: %s", p.name, p.path, problem)
	}
}

// tellsAfter reports whether the file for events after a tool is as install writes it.
func tellsAfter(p *configPlace, text []byte) bool {
	entries, err := p.edit.check(text)
	return err == nil && len(entries.programs) > 0 && len(entries.problems) == 0
}
