package targets

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// gitCommands are runs of git that are not read-only. Those that make a repository or need a
// server are not among them.
var gitCommands = []string{
	"commit -am x", "commit --amend --no-edit", "commit --allow-empty -m x", "add .", "add -u", "checkout other", "checkout -b new", "checkout -- a.txt", "switch other",
	"restore a.txt", "reset --hard", "reset HEAD~", "merge diverged", "merge --no-ff other", "rebase diverged", "rebase -i HEAD~1", "cherry-pick diverged", "revert --no-edit HEAD",
	"stash", "stash -u", "rm a.txt", "mv a.txt c.txt", "clean -fd", "tag t", "tag -s t2 -m x", "branch n", "branch -m main renamed", "worktree add ../linked", "gc", "am --show-current-patch",
	"notes add -m x", "update-ref refs/x HEAD", "fetch remote", "pull remote main", "push remote main:x", "push remote HEAD:refs/heads/y", "remote update", "config user.name y", "apply --index p.patch",
	"submodule update", "sparse-checkout set a", "read-tree -mu HEAD", "checkout-index -af", "update-index --refresh", "commit -S -m x -a", "commit -a", "maintenance run", "difftool -y HEAD~", "mergetool -y",
	"stash show -p", "hook run pre-commit", "rerere", "pack-refs --all", "reflog expire --all", "x", "send-pack ../remote.git main:z",
}

// gitWays are changes after which git runs a program that it did not run before. Each is lines of
// sh, run in the repository; "$E" is a program.
var gitWays = map[string]string{
	"hooks": `for h in applypatch-msg pre-commit prepare-commit-msg commit-msg post-commit pre-merge-commit pre-rebase post-checkout post-merge pre-push post-rewrite ` +
		`reference-transaction pre-auto-gc post-index-change push-to-checkout fsmonitor-watchman; do cp "$E" .git/hooks/$h; done`,
	"fsmonitor":         `git config core.fsmonitor "$E"`,
	"filter":            `git config filter.z.clean "$E"; git config filter.z.smudge "$E"; echo '* filter=z' > .git/info/attributes`,
	"filter in tree":    `git config filter.z.clean "$E"; git config filter.z.smudge "$E"; echo '* filter=z' > .gitattributes`,
	"filter process":    `git config filter.z.process "$E"; git config filter.z.required true; echo '* filter=z' > .git/info/attributes`,
	"attributes":        `echo '* filter=there' > .gitattributes`,
	"nested attributes": `echo '* filter=there' > dir/.gitattributes`,
	"program changes":   `cp "$E" ./there.sh; echo '* filter=there' > .git/info/attributes`,
	"hooksPath":         `mkdir -p h; for h in pre-commit reference-transaction post-checkout post-index-change pre-push; do cp "$E" h/$h; done; git config core.hooksPath h`,
	"hooks in a folder": `cp "$E" hooks.d/pre-commit; cp "$E" hooks.d/reference-transaction; cp "$E" hooks.d/post-index-change`,
	"alias":             `git config alias.x "!$E"`,
	"gpg":               `git config gpg.program "$E"; git config commit.gpgSign true; git config tag.gpgSign true; git config push.gpgSign if-asked`,
	"editor":            `git config core.editor "$E"; git config sequence.editor "$E"`,
	"merge driver":      `git config merge.z.driver "$E %O %A %B"; echo '* merge=z' > .git/info/attributes`,
	"textconv":          `git config diff.z.textconv "$E"; echo '* diff=z' > .git/info/attributes`,
	"external diff":     `git config diff.external "$E"`,
	"difftool":          `git config difftool.z.cmd "$E"; git config diff.tool z; git config merge.tool z; git config mergetool.z.cmd "$E"`,
	"credentials":       `git config credential.helper "!$E"; git config remote.remote.url http://127.0.0.1:9/x`,
	"ssh":               `git config core.sshCommand "$E"; git config remote.remote.url ssh://localhost/x`,
	"ssh by push":       `git config core.sshCommand "$E"; git config remote.remote.pushurl ssh://localhost/x`,
	"receivepack":       `git config remote.remote.receivepack "$E"; git config remote.remote.uploadpack "$E"`,
	"ext":               `git config protocol.ext.allow always; git config remote.remote.url "ext::$E"`,
	"insteadOf":         `git config protocol.ext.allow always; git config "url.ext::$E .insteadOf" ../remote.git`,
	"hook of a remote":  `cp "$E" ../remote.git/hooks/pre-receive; cp "$E" ../remote.git/hooks/update`,
	"worktree settings": `git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "$E"`,
	"include":           `printf '[core]\n\tfsmonitor = %s\n' "$E" > .git/more; git config include.path more`,
	"submodule update":  `git config submodule.sub.update "!$E"`,
	"hook of submodule": `for f in sub/.git .git/modules/sub; do [ -d $f ] && git --git-dir=$f config core.fsmonitor "$E"; done; true`,
	"hook gets its x":   `chmod +x .git/hooks/pre-commit`,
	"hook by a link":    `rm -rf .git/hooks; ln -s ../hooks.x .git/hooks; mkdir hooks.x; cp "$E" hooks.x/pre-commit; cp "$E" hooks.x/reference-transaction`,
	"through a link":    `cp "$E" hook.sh`,
	"shared repository": `mkdir -p "$PWD/../moved"; rm -rf sub; mv .git ../moved/.git; echo "gitdir: ../moved/.git" > .git; cp "$E" ../moved/.git/hooks/pre-commit; sed -i '/worktree/d' ../moved/.git/config`,
	"lost repository":   `cp -a .git ../.git; rm .git/HEAD; cp "$E" ../.git/hooks/pre-commit`,
	"own include":       `printf '[core]\n\tfsmonitor = %s\n' "$E" > "$HOME/.more"; git config --global include.path .more`,
	"included changes":  `printf '[core]\n\tfsmonitor = %s\n' "$E" > "$HOME/.there"`,
	"own attributes":    `mkdir -p "$HOME/.config/git"; echo '* filter=there' > "$HOME/.config/git/attributes"`,
	"xdg attributes":    `mkdir -p ../xdg/git; echo '* filter=there' > ../xdg/git/attributes`,
	"xdg settings":      `mkdir -p ../xdg/git; git config --file ../xdg/git/config core.fsmonitor "$E"`,
	"own settings":      `git config --global core.fsmonitor "$E"`,
	"hooks of person":   `git config --global core.hooksPath "$PWD/h2"; mkdir h2; cp "$E" h2/reference-transaction; cp "$E" h2/pre-commit`,
}

// gitCases are, for the ways that not every command shows, what is there before and a command
// that runs the program after the change.
var gitCases = map[string]struct{ before, command string }{
	"alias":             {command: "x"},
	"gpg":               {"echo c >> a.txt", "commit -S -m x -a"},
	"editor":            {"echo c >> a.txt", "commit -a"},
	"difftool":          {command: "difftool -y HEAD~"},
	"credentials":       {command: "credential approve"},
	"ssh":               {command: "fetch remote"},
	"textconv":          {"echo c >> a.txt; git stash -q", "stash show -p --textconv"},
	"external diff":     {"echo c >> a.txt; git stash -q", "stash show -p --ext-diff"},
	"hook of a remote":  {command: "push remote HEAD:refs/heads/y"},
	"ssh by push":       {command: "push remote main:x"},
	"receivepack":       {command: "push remote main:x"},
	"ext":               {command: "remote update"},
	"insteadOf":         {command: "pull remote main"},
	"submodule update":  {"git -C sub commit -q --allow-empty -m y; git add sub; git commit -qm sub; git -C sub checkout -q HEAD~", "submodule update"},
	"merge driver":      {command: "merge diverged"},
	"attributes":        {command: "add -u"},
	"own attributes":    {command: "add -u"},
	"hooks in a folder": {before: "git config core.hooksPath hooks.d"},
	"program changes":   {before: "echo '* filter=there' > .git/info/attributes; printf '#!/bin/sh\\ncat\\n' > there.sh"},
	"hook gets its x":   {before: `cp "$E" .git/hooks/pre-commit; chmod -x .git/hooks/pre-commit`},
	"through a link":    {before: "echo '#!/bin/sh' > hook.sh; chmod +x hook.sh; ln -s ../../hook.sh .git/hooks/pre-commit"},
	"included changes":  {before: "git config --global include.path '~/.there'"},
}

// TestGitOracle: a run of git that a person allowed for always runs no program that
// it did not run when they did. Real git runs each command after each change; if it
// runs the program then, the answer must not be bound to the same as before.
func TestGitOracle(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	base := t.TempDir()
	env := func(top string) []string {
		return []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + top + "/home", "E=" + top + "/evil", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a.example", "EDITOR=true",
		}
	}
	in := func(top, text string) (string, error) {
		cmd := exec.Command("sh", "-c", text)
		cmd.Dir, cmd.Env = filepath.Join(top, "repo"), env(top)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if err := os.MkdirAll(filepath.Join(base, "first/repo"), 0o700); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(base, "first")
	filetest.Write(t, first+"/home/.gitconfig", "[user]\n\tname = a\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[diff]\n\ttool = none\n[merge]\n\ttool = none\n[difftool \"none\"]\n\tcmd = true\n[mergetool \"none\"]\n\tcmd = true\n")
	filetest.Write(t, first+"/evil", "#!/bin/sh\n: > \"${0%/*}/ran\"; : > \"${E%/*}/ran\"\ntimeout 1 cat 2>/dev/null\nexit 0\n")
	filetest.Write(t, first+"/input", "protocol=https\nhost=a.example\nusername=a\npassword=a\n\n")
	if out, err := in(first, `set -e; chmod +x ../evil; git init -q; cp ../evil there.sh; chmod +x there.sh
		echo a > a.txt; mkdir dir hooks.d; echo b > dir/b.txt; git config filter.there.clean ./there.sh; echo '*.none text' > dir/.gitattributes
		git init -q ../other; git -C ../other commit -q --allow-empty -m x; git submodule -q add ../other sub
		git add .; git commit -qm one; git branch diverged; echo two >> a.txt; git commit -qam two; git branch other; git checkout -q other
		echo o > o.txt; echo zwei >> dir/b.txt; git add o.txt; git commit -qam o; git checkout -q diverged; echo d >> dir/b.txt; echo d >> a.txt; git commit -qam d; git checkout -q main
		echo three > e.txt; git add e.txt; git commit -qm three; git clone -q --bare . ../remote.git; git remote add remote ../remote.git; git fetch -q remote
		echo changed >> dir/b.txt; git diff > p.patch; git checkout -q dir; touch a.txt; echo n > new.txt`); err != nil {
		t.Fatal(err, out)
	}
	ran, ways := 0, map[string]int{}
	drawn := testload.Sample(t, 12, slices.Sorted(maps.Keys(gitWays)))
	r := rand.New(rand.NewPCG(testload.Seed(t), 0))
	for _, name := range drawn {
		way, c := gitWays[name], gitCases[name]
		random := gitCommands[r.IntN(len(gitCommands))]
		for _, command := range []string{random, cmp.Or(c.command, "commit -am x")} {
			top := filepath.Join(base, "top")
			if out, err := exec.Command("cp", "-a", first, top).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			if out, err := in(top, c.before+"\nrm -f ../ran"); err != nil {
				t.Fatal(name, err, out)
			}
			words := strings.Fields(command)
			run := &effects.Run{Program: "git", Subcommand: words[0], Known: true, Args: words, Operands: words[1:], Cwd: filepath.Join(top, "repo")}
			of := func() *effects.Script {
				return Of(paths.OSFS{}, run, &effects.Disturbance{}, &effects.User{Home: filepath.Join(top, "home"), Env: map[string]string{"XDG_CONFIG_HOME": filepath.Join(top, "xdg")}})
			}
			before := of()
			if before != nil && before.Unbound != "" {
				t.Fatalf("git %s: not bound: %s", command, before.Unbound)
			}
			if out, err := in(top, way+"\nrm -f ../ran"); err != nil {
				t.Fatal(name, err, out)
			}
			after := of()
			config := ""
			if strings.HasPrefix(name, "xdg") {
				config = `XDG_CONFIG_HOME="${PWD%/*}/xdg" `
			}
			_, _ = in(top, config+"timeout 10 git "+command+" <../input")
			if _, err := os.Stat(filepath.Join(top, "ran")); err == nil {
				ran++
				ways[name]++
				if before == nil || after.Unbound == "" && after.SHA256 == before.SHA256 {
					t.Errorf("%s: git %s ran the program, and the answer still counts", name, command)
				}
			}
			if err := os.RemoveAll(top); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range drawn {
		if ways[name] == 0 {
			t.Errorf("%s: git never ran the program", name)
		}
	}
	t.Logf("%d runs of the program", ran)
}
