package setup

import (
	"strings"
	"testing"
)

// TestHooksOfEarlierVersions: hooks that an earlier version installed are found, are said
// to tell nothing after a tool, and are completed by another install, which changes
// nothing else.
func TestHooksOfEarlierVersions(t *testing.T) {
	earlier := func(harness string) string { return hookCommand(testProgram, harness, hookOptions{}) }
	for harness, tt := range map[string]struct{ earlier, silent string }{
		"claude": {
			`{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "` + earlier("claude") + `", "timeout": 10, "onFailure": "block"}]}]}}`,
			"PostToolUse Stop",
		},
		"gemini": {
			`{"hooks": {"BeforeTool": [{"matcher": "*", "hooks": [{"name": "permd", "type": "command", "command": "` + earlier("gemini") + `", "timeout": 10000}]}]}}`,
			"AfterTool",
		},
		"copilot": {string(copilotEarlier(testProgram)), "the event after a tool"},
		"codex": {
			tomlBegin + "\n[[hooks.PreToolUse]]\n\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"" + earlier("codex") + "\"\ntimeout = 10\n\n" +
				"[[hooks.PermissionRequest]]\n\n[[hooks.PermissionRequest.hooks]]\ntype = \"command\"\ncommand = \"" + earlier("codex") + "\"\ntimeout = 10\n" + tomlEnd + "\n",
			"PostToolUse",
		},
	} {
		t.Run(harness, func(t *testing.T) {
			p, _ := placeOf(t, harness, false)
			e, err := p.edit.check([]byte(tt.earlier))
			if err != nil || len(e.problems) != 0 || len(e.programs) != 1 || strings.Join(e.silent, " ") != tt.silent {
				t.Errorf("%+v, %v; want to be told of %q", e, err, tt.silent)
			}
			base, found, err := p.edit.remove([]byte(tt.earlier))
			if err != nil || !found {
				t.Fatalf("removed %v, %v", found, err)
			}
			again, err := p.edit.install(base, testProgram)
			if err != nil {
				t.Fatal(err)
			}
			if e, err := p.edit.check(again); err != nil || len(e.problems)+len(e.silent) != 0 || len(e.programs) != 1 {
				t.Errorf("after another install: %+v, %v\n%s", e, err, again)
			}
		})
	}
}

// TestAfterIsNoAsk: a command for events after a tool, at an event before one, does not
// count as one that asks permd.
func TestAfterIsNoAsk(t *testing.T) {
	for _, harness := range []string{"claude", "codex", "gemini", "cursor"} {
		p, _ := placeOf(t, harness, false)
		text, err := p.edit.install(nil, testProgram)
		if err != nil {
			t.Fatal(err)
		}
		bad := strings.ReplaceAll(string(text), " hook "+harness+" || exit 2", " hook "+harness+" --after || exit 0")
		if e, err := p.edit.check([]byte(bad)); err != nil || len(e.programs) > 0 && len(e.problems) == 0 {
			t.Errorf("%s: %+v, %v\n%s", harness, e, err, bad)
		}
	}
	for command, want := range map[string]string{
		"/usr/bin/permd hook claude --after || exit 0":          "/usr/bin/permd",
		"'/opt/a b/permd' hook claude --after || exit 0":        "/opt/a b/permd",
		"/usr/bin/permd hook claude --system --after || exit 0": "/usr/bin/permd",
		"/usr/bin/permd hook claude --system || exit 2":         "",
		"/usr/bin/permd hook claude --after":                    "/usr/bin/permd",
		"/usr/bin/permd hook claude || exit 2":                  "",
		"/usr/bin/permd hook codex --after || exit 0":           "",
		"tee log | permd hook claude --after || exit 0":         "",
	} {
		if got := afterProgram(command, "claude"); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
		if strings.Contains(command, "--after") && hookProgram(command, "claude") != "" {
			t.Errorf("%s is taken for a hook that asks", command)
		}
	}
}
