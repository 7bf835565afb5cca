package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestOwnGitSettings begins with the rule that would have let each pass: the shipped one,
// which allows what is read-only. What a person's own settings name counts if it may lie in
// the project, and only for the sub-commands that read it.
func TestOwnGitSettings(t *testing.T) {
	table := effectstest.Table(t)
	const home = "/home/ana"
	const lfs = "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n"
	all := []string{"git status", "git diff", "git log -p", "git show", "git blame a.txt", "git branch", "git -C src status", "git ls-files", "git remote -v", "git status -v", "git log"}
	diffs := []string{"git diff", "git log", "git log -p", "git show", "git blame a.txt", "git status -v"}
	for name, c := range map[string]struct {
		text string   // of ~/.gitconfig
		asks []string // of these commands; the others are read-only
	}{
		"an ordinary person": {`# mine
[user]
	name = "Ana \"A\" Doe" ; me
	email = ana@example.com
	signingKey = ~/.ssh/id_ed25519.pub
[core]
	editor = vim -c 'set ft=gitcommit' +1
	excludesFile = ~/.gitignore_global
	pager = "diff-so-fancy | less --tabs=4 -RFX"
	autocrlf = input
	sshCommand = ssh -i ~/.ssh/id_work
[pull]
	rebase = true
[init]
	defaultBranch = main
[interactive]
	diffFilter = delta --color-only
[delta]
	navigate = true
	syntax-theme = "Monokai Extended"
	plus-style = syntax "#012800"
[alias]
	lg = log --graph --pretty=format:'%h -%d %s' \
		--abbrev-commit
	x = "!f() { ./x; }; f"
[commit]
	gpgsign = true
[gpg]
	format = ssh
[gpg "ssh"]
	program = /opt/1Password/op-ssh-sign
	allowedSignersFile = ~/.ssh/allowed_signers
[credential "https://github.com"]
	helper =
	helper = !/usr/bin/gh auth git-credential
[credential]
	helper = store --file ~/.creds
[url "git@github.com:"]
	insteadOf = https://github.com/
[pager]
	diff = delta
	branch = false
[color "diff"]
	meta = yellow bold
[merge]
	tool = vimdiff
	conflictStyle = zdiff3
[mergetool "x"]
	cmd = ./x "$LOCAL"
[diff]
	colorMoved = zebra
	algorithm = histogram
[diff "exif"]
	textconv = exiftool
[rerere]
	enabled = 1
[log]
	date = format:%Y-%m-%d %H:%M
[pretty]
	mine = format:%C(yellow)%h%Creset %s
[includeIf "gitdir:~/work/"]
	path = .gitconfig-work
[safe]
	directory = *
[help]
	autocorrect = 20
[push]
	autoSetupRemote
[protocol "file"]
	allow = always
[something]
	new = 3
	name = patience
`, nil},
		"large files":                               {lfs, nil},
		"large files, shown as others":              {lfs + "[diff \"x\"]\n\ttextconv = exiftool\n", diffs},
		"a monitor of the project":                  {"[core]\n\tfsmonitor = ./x\n", all},
		"a hook of the repository":                  {"[core]\n\tfsmonitor = .git/hooks/x\n", all},
		"a monitor by its name":                     {"[core]\n\tfsmonitor = rs-git-fsmonitor\n", nil},
		"git's own monitor":                         {"[core]\n\tfsmonitor\n", nil},
		"a monitor at a place outside":              {"[core]\n\tfsmonitor = ~/bin/monitor -v\n", nil},
		"a monitor in the project":                  {"[core]\n\tfsmonitor = /home/ana/src/shop/x\n", all},
		"from the home into the project":            {"[core]\n\tfsmonitor = ~/src/shop/x\n", all},
		"a link into the project":                   {"[core]\n\tfsmonitor = ~/link/x\n", all},
		"quoted":                                    {"[core]\n\tfsmonitor = \"./\"x\n", all},
		"continued":                                 {"[core]\n\tfsmonitor = .\\\n/x\n", all},
		"on the line of the section":                {"[core] fsmonitor = ./x\n", all},
		"behind a comment":                          {"[core] # x\n\tfsmonitor=./x ; y\n", all},
		"in another case":                           {"[CORE]\n\tFSMonitor = ./x\n", all},
		"a shell":                                   {"[core]\n\tfsmonitor = sh x\n", all},
		"a shell by its path":                       {"[core]\n\tfsmonitor = /bin/bash -x\n", all},
		"an interpreter":                            {"[core]\n\tfsmonitor = python3.12 -m monitor\n", all},
		"a wrapper":                                 {"[core]\n\tfsmonitor = env a.txt\n", all},
		"a builder":                                 {"[core]\n\tfsmonitor = make monitor\n", all},
		"of the shell itself":                       {"[core]\n\tfsmonitor = eval monitor\n", all},
		"two commands":                              {"[core]\n\tfsmonitor = \"true; ./x\"\n", all},
		"a substitution":                            {"[core]\n\tfsmonitor = \"x $(./x)\"\n", all},
		"a word that is a file of the project":      {"[core]\n\tfsmonitor = monitor a.txt\n", all},
		"a value that is one":                       {"[core]\n\tfsmonitor = monitor --config=a.txt\n", all},
		"a value beside its option":                 {"[core]\n\tfsmonitor = monitor -ca.txt\n", all},
		"a word that is none":                       {"[core]\n\tfsmonitor = monitor none --config=none\n", nil},
		"an assignment":                             {"[core]\n\tfsmonitor = A=b monitor\n", all},
		"a clean filter":                            {"[filter \"x\"]\n\tclean = ./x\n", all},
		"a filter":                                  {"[filter \"x\"]\n\tprocess = ./x %f\n", all},
		"a pager":                                   {"[core]\n\tpager = ./x\n", all},
		"a pager behind another":                    {"[core]\n\tpager = less | ./x\n", all},
		"a pager that is an interpreter":            {"[pager]\n\tlog = node\n", all},
		"another diff":                              {"[diff]\n\texternal = ./x\n", diffs},
		"another diff, by name":                     {"[diff]\n\texternal = difft --color always\n", nil},
		"a converter":                               {"[diff \"x\"]\n\ttextconv = ./x\n", diffs},
		"a converter that is a shell":               {"[diff \"x\"]\n\ttextconv = sh -c 'cat $0'\n", diffs},
		"a converter that runs what it is given":    {"[diff \"x\"]\n\ttextconv = bash\n", diffs},
		"what a converter made":                     {"[diff \"x\"]\n\tcachetextconv = true\n", diffs},
		"a merge driver":                            {"[merge \"x\"]\n\tdriver = ./x %A\n", diffs},
		"a signature":                               {"[gpg]\n\tprogram = ./x\n", all},
		"another hook":                              {"[hook \"x\"]\n\tcommand = ./x\n", all},
		"hooks of the project":                      {"[core]\n\thooksPath = .husky\n", nil},
		"hooks of the project with one":             {"[core]\n\thooksPath = hooks\n", all},
		"hooks of the home":                         {"[core]\n\thooksPath = ~/.githooks\n", nil},
		"hooks of the project by their place":       {"[core]\n\thooksPath = ~/src/shop/hooks\n", all},
		"a new key with a file of the project":      {"[new]\n\tkey = ./x\n", all},
		"a new key with one by its name":            {"[new]\n\tkey = a.txt\n", all},
		"a new key with a shell":                    {"[new]\n\tkey = sh -c x\n", all},
		"a new key with a place outside":            {"[new]\n\tkey = /usr/share/x\n", nil},
		"a program to connect":                      {"[core]\n\tsshCommand = ./x\n", nil},
		"a helper for credentials":                  {"[credential]\n\thelper = !./x\n", nil},
		"a trailer":                                 {"[trailer \"x\"]\n\tcommand = ./x\n", nil},
		"what is ignored where git does not search": {"[core]\n\texcludesFile = .gitignore\n", nil},
		"a secret in its place":                     {"[core]\n\texcludesFile = secret\n", all},
		"a link to a secret":                        {"[blame]\n\tignoreRevsFile = secret\n", all},
		"a file of the project":                     {"[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n", nil},
		"an alias of what is run":                   {"[alias]\n\tstatus = !./x\n", []string{"git status", "git -C src status", "git status -v"}},
		"included":                                  {"[include]\n\tpath = .gitconfig-evil\n", all},
		"included on a condition":                   {"[includeIf \"gitdir:~/src/\"]\n\tpath = ~/.gitconfig-evil\n", all},
		"included from the project":                 {"[include]\n\tpath = ~/src/shop/conf\n", nil},
		"included commands of the project":          {"[include]\n\tpath = src/shop/cmd\n", all},
		"included and gone":                         {"[include]\n\tpath = ~/none\n", nil},
		"included by itself":                        {"[include]\n\tpath = ~/.gitconfig\n", all},
		"of another's home":                         {"[include]\n\tpath = ~bob/x\n", all},
		"no configuration":                          {"<<<<\n", all},
		"a quote without an end":                    {"[user]\n\tname = \"Ana\n", all},
		"too large":                                 {"#" + strings.Repeat("x", 64<<10), all},
	} {
		t.Run(name, func(t *testing.T) {
			set := func(f *fsfake.FS) {
				f.File(effectstest.Cwd+"/x", "x").File(effectstest.Cwd+"/hooks/post-index-change", "x").Link(home+"/link", "src/shop")
				f.File(home+"/.gitconfig-evil", "[core]\n\tfsmonitor = ./x\n").File(home+"/.gitconfig-work", "[user]\n\temail = x@y\n")
				f.File(effectstest.Cwd+"/conf", "[user]\n\tname = x\n").File(effectstest.Cwd+"/cmd", "[core]\n\tfsmonitor = monitor\n")
				f.Link(effectstest.Cwd+"/secret", home+"/.ssh/id_ed25519").File(effectstest.Cwd+"/.git-blame-ignore-revs", "")
			}
			for _, file := range []string{home + "/.gitconfig", home + "/.config/git/config", "/etc/gitconfig"} {
				if file != home+"/.gitconfig" && strings.Contains(c.text, "path") {
					continue // relative to the file
				}
				for _, text := range all {
					fs := effectstest.Files()
					set(fs)
					fs.File(file, c.text)
					b := shellBuilder(table, fs)
					Text(b, text, effectstest.Cwd, "command")
					if got := b.Effects[0].Run.Readonly; got == slices.Contains(c.asks, text) {
						t.Errorf("%s, %s: read-only: %v, %s", file, text, got, b.Effects[len(b.Effects)-1].Text)
					}
				}
			}
		})
	}
}
