package main

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
)

// The home and the project of the corpora's person.
const (
	uid         = 1000
	devHome     = "/home/dev"
	devProject  = "/home/dev/project"
	daemonPID   = 4242
	runtimeDir  = "/run/user/1000"
	claudeAgent = "claude-agent-acp"
)

// world is a machine in memory: its person and its files.
type world struct {
	home string
	fs   *fsfake.FS
	// tasks are the tasks of mise that calls name, and the files with them, which are absolute.
	tasks map[string]bool
}

// newWorld makes the machine of a person, with the files that every machine has.
func newWorld(home string) *world {
	w := &world{home: path.Clean(home), fs: fsfake.New(
		"/bin -> usr/bin", "/usr/bin/", "/usr/local/bin/", "/etc/passwd", "/etc/hosts", "/etc/os-release", "/etc/shadow",
		"/tmp/", "/var/tmp/", "/var/log/", "/srv/", "/root/", "/opt/", "/proc/self/", runtimeDir+"/permd/permd.sock",
	)}
	for _, device := range []string{"null", "zero", "full", "random", "urandom", "tty", "sda", "sda1"} {
		w.fs.Device("/dev/" + device)
	}
	w.fs.Link("/dev/stdin", "/proc/self/fd/0").Link("/dev/stdout", "/proc/self/fd/1").Link("/dev/stderr", "/proc/self/fd/2").Link("/dev/fd", "/proc/self/fd")
	for _, file := range []string{
		".bashrc", ".profile", ".netrc", ".ssh/id_rsa", ".ssh/config", ".aws/credentials",
		".config/gh/hosts.yml", ".config/permd/permd.toml", ".local/share/permd/remember.db", ".gnupg/pubring.kbx", ".cache/x",
	} {
		w.fs.File(path.Join(home, file), "x\n")
	}
	w.fs.File(path.Join(home, ".gitconfig"), ownGitConfig)
	return w
}

// ownGitConfig is what many people have in their own configuration of git.
const ownGitConfig = `[user]
	name = "A Person"
	email = person@example.com
[core]
	editor = vim
	pager = delta
	excludesFile = ~/.gitignore
[alias]
	lg = log --graph --pretty=format:'%h %s'
[init]
	defaultBranch = main
[pull]
	rebase = true
[credential]
	helper = store
[filter "lfs"]
	clean = git-lfs clean -- %f
	smudge = git-lfs smudge -- %f
	process = git-lfs filter-process
	required = true
`

// plainFiles are the files of an ordinary project, which has no secrets and no
// rules.
var plainFiles = map[string]string{
	"README.md": "# project\n", "LICENSE": "\n", ".gitignore": "node_modules\n", "go.mod": "module example.com/project\n", "go.sum": "\n",
	"package.json": `{"name":"project","scripts":{"build":"tsc","test":"node --test","lint":"eslint .","dev":"vite","start":"node ."}}` + "\n",
	"Makefile":     "all:\n\tgo build\nbuild:\n\tgo build\ntest:\n\tgo test ./...\nlint:\n\tgo vet ./...\nok:\n\ttrue\n",
	"Dockerfile":   "FROM scratch\n", "pyproject.toml": "[project]\nname = \"project\"\n", "tsconfig.json": "{}\n", "Cargo.toml": "[package]\n",
	"src/main.go": "package main\n", "src/app.ts": "\n", "src/a.txt": "a\n", "docs/index.md": "\n", "scripts/deploy.sh": "#!/bin/sh\ntrue\n",
	"tests/unit/test_a.py": "\n", "cmd/main.go": "package main\n", "pkg/a.go": "package pkg\n", "internal/a.go": "package internal\n",
	"lib/a.dart": "\n", "logs/dev.log": "\n", "assets/logo.png": "\n", "a.txt": "a\n", "b.txt": "b\n", "a.json": "{}\n",
	"old.txt": "a\n", "new.txt": "b\n", ".env.example": "TOKEN=\n",
}

// checkout makes a folder an ordinary git checkout.
func (w *world) checkout(dir string) *world {
	w.repository(path.Join(dir, ".git"))
	return w.files(dir)
}

func (w *world) files(dir string) *world {
	for name, text := range plainFiles {
		w.fs.File(path.Join(dir, name), text)
	}
	return w
}

func (w *world) repository(git string) {
	w.fs.File(git+"/HEAD", "ref: refs/heads/main\n")
	w.fs.File(git+"/config", "[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = https://git.example.com/project.git\n")
	w.fs.File(git+"/index", "").Dir(git + "/objects").Dir(git + "/hooks").Dir(git + "/info")
	w.fs.File(git+"/refs/heads/main", "0000000000000000000000000000000000000000\n")
	w.fs.Own(path.Dir(git), uid, 0o755).Own(git, uid, 0o755)
}

// worktree makes a folder a worktree of a checkout, so that both are one project
// for remembered choices.
func (w *world) worktree(dir, main string) {
	admin := path.Join(main, ".git/worktrees", strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-"))
	w.fs.File(path.Join(dir, ".git"), "gitdir: "+admin+"\n")
	w.fs.File(admin+"/gitdir", path.Join(dir, ".git")+"\n").File(admin+"/commondir", "../..\n").File(admin+"/HEAD", "ref: refs/heads/x\n")
	w.fs.Own(dir, uid, 0o755).Own(path.Join(dir, ".git"), uid, 0o644).Own(admin, uid, 0o755)
	w.files(dir)
}

// folder makes a folder; one that is there keeps its owner.
func (w *world) folder(dir string) {
	if _, err := w.fs.Lstat(dir); err != nil {
		w.fs.Dir(dir)
	}
}

// add makes those files that do not exist yet.
func (w *world) add(file, text string) {
	if _, err := w.fs.Lstat(file); err != nil {
		w.fs.File(file, text)
	}
}

// user returns the person as the daemon would know them.
func (w *world) user() effects.User {
	return effects.User{UID: uid, Name: path.Base(w.home), Home: w.home, Env: map[string]string{
		"HOME": w.home, "USER": path.Base(w.home), "LOGNAME": path.Base(w.home), "XDG_RUNTIME_DIR": runtimeDir,
	}}
}

// own returns permd's own files of that person.
func (w *world) own() paths.Own {
	return paths.OwnFiles(
		path.Join(w.home, ".config/permd"), path.Join(w.home, ".local/share/permd"), path.Join(w.home, ".local/state/permd"),
		runtimeDir+"/permd", runtimeDir+"/permd-admin", "/etc/permd", "/var/lib/permd", "/run/permd", "/run/permd-admin",
		path.Join(w.home, ".config/systemd/user/permd.service"),
	)
}
