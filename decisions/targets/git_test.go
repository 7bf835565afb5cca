package targets

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
)

// TestRemotes: an answer about a run that reaches a remote is bound to all that a repository says of
// where that is and of what runs, and to nothing that is said of other things.
func TestRemotes(t *testing.T) {
	const config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://good.example/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	tests := []struct {
		name, file, text string
		same, unbound    bool
	}{
		{name: "address", file: "config", text: "[remote \"origin\"]\n\turl = https://evil.example/x\n"},
		{name: "another address", file: "config", text: config + "\turl = https://evil.example/x\n"},
		{name: "pushurl", file: "config", text: config + "[remote \"origin\"] pushurl = /tmp/x\n"},
		{name: "receivepack", file: "config", text: config + "\treceivepack = sh -c x\n"},
		{name: "uploadpack", file: "config", text: config + "\tuploadpack = sh -c x\n"},
		{name: "vcs", file: "config", text: config + "\tvcs = x\n"},
		{name: "mirror", file: "config", text: config + "\tmirror = true\n"},
		{name: "insteadOf", file: "config", text: config + "[url \"/tmp/x\"]\n\tinsteadOf = https://good.example/\n"},
		{name: "pushInsteadOf", file: "config", text: config + "[url \"/tmp/x\"]\n\tpushInsteadOf = https://good.example/\n"},
		{name: "proxy", file: "config", text: config + "[http]\n\tproxy = http://x\n"},
		{name: "ssh", file: "config", text: config + "[core]\n\tsshCommand = x\n"},
		{name: "behind another section", file: "config", text: config + "[user] [remote \"origin\"] pushurl = /tmp/x\n"},
		{name: "behind a branch", file: "config", text: config + "[branch \"a\"] [remote \"b\"]\n\tpushurl = /tmp/x\n"},
		{name: "in a line that goes on", file: "config", text: config + "[user]\n\tname = x \\\n[y]\n[remote \"origin\"]\n\tpushurl = /tmp/x\n"},
		{name: "worktree", file: "config.worktree", text: "[remote \"origin\"]\n\tpushurl = /tmp/x\n"},
		{name: "remotes", file: "remotes/origin", text: "URL: /tmp/x\n"},
		{name: "branches", file: "branches/origin", text: "/tmp/x\n"},
		{name: "hook", file: "hooks/pre-push", text: "#!/bin/sh\n"},
		{name: "hook of a fetch", file: "hooks/reference-transaction", text: "#!/bin/sh\n"},
		{name: "hook of a merge", file: "hooks/post-merge", text: "#!/bin/sh\n"},
		{name: "gc", file: "config", text: config + "[gc]\n\trecentObjectsHook = x\n"},
		{name: "sample", file: "hooks/pre-push.sample", text: "#!/bin/sh\n", same: true},
		{name: "include", file: "config", text: config + "[include]\n\tpath = x\n", unbound: true},
		{name: "includeIf", file: "config", text: config + "[IncludeIf \"gitdir:x\"]\n\tpath = x\n", unbound: true},
		{name: "user", file: "config", text: config + "[user]\n\tname = x\n", same: true},
		{name: "branch", file: "config", text: config + "[branch \"main\"]\n\tremote = origin\n", same: true},
		{name: "commits", file: "logs/HEAD", text: "x\n", same: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			filetest.Write(t, filepath.Join(top, ".git/config"), config)
			if err := os.MkdirAll(filepath.Join(top, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			of := func() *effects.Script {
				run := &effects.Run{Program: "git", Subcommand: "push", Known: true, Args: []string{"push", "origin", "main"}, Operands: []string{"origin", "main"}, Cwd: filepath.Join(top, "sub")}
				return Of(paths.OSFS{}, run, &effects.Disturbance{}, &effects.User{})
			}
			before := of()
			if before == nil || before.SHA256 == "" {
				t.Fatalf("not bound: %+v", before)
			}
			filetest.Write(t, filepath.Join(top, ".git", tt.file), tt.text)
			after := of()
			if (after.Unbound != "") != tt.unbound || !tt.unbound && (before.SHA256 == after.SHA256) != tt.same {
				t.Errorf("before %+v, after %+v", before, after)
			}
		})
	}
}

// TestGitPrefixes: an answer about git is bound to the settings of the system wherever a build of git
// has them, and to nothing where there are none.
func TestGitPrefixes(t *testing.T) {
	files := fsfake.New().File("/p/.git/HEAD", "ref: refs/heads/main\n").File("/p/.git/config", "").File("/p/.git/objects/x", "").File("/p/.git/refs/x", "")
	run := &effects.Run{Program: "git", Subcommand: "commit", Known: true, Args: []string{"commit"}, Cwd: "/p"}
	of := func() string {
		return Of(files, run, &effects.Disturbance{}, &effects.User{Home: "/home/a", Env: map[string]string{"XDG_CONFIG_HOME": "/xdg"}}).SHA256
	}
	seen := []string{of()}
	for _, dir := range append([]string{"/xdg/git"}, gitPrefixes...) {
		for _, f := range [][2]string{{"config", "[core]\n\tfsmonitor = /x\n"}, {"attributes", "* filter=x\n"}} {
			name := "/git" + f[0]
			if dir == "/xdg/git" {
				name = "/" + f[0]
			}
			files.File(dir+name, f[1])
			now := of()
			if slices.Contains(seen, now) {
				t.Errorf("the answer still counts with %s", dir+name)
			}
			seen = append(seen, now)
		}
	}
}
