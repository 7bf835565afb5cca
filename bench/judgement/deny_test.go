package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
)

const denyProject = "/home/ana/shop"

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// shared is what all tests decide by, so that the shipped rules are compiled once.
var shared = sync.OnceValues(func() (*shipped.Rules, error) { return shipped.Open("balanced", uint32(os.Geteuid()), noon) })

func TestMain(m *testing.M) {
	code := m.Run()
	rules, err := shared()
	if err == nil {
		err = rules.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// allowsOfPerson let everything pass that the tests of denies try: files of the project,
// and git add.
const allowsOfPerson = "allow:\n  read: [./**]\n  write: [./**]\n  delete: [./**]\n  run: [\"git add *\"]\n"

// denied returns what the shipped rules and a person's lines answer to commands.
func denied(t *testing.T, lines string, commands ...string) []decisions.Verdict {
	t.Helper()
	return answered(t, shipped.User{List: allowsOfPerson + lines}, commands...)
}

// answered returns what the shipped rules and those of a person answer to commands.
func answered(t *testing.T, user shipped.User, commands ...string) []decisions.Verdict {
	t.Helper()
	uid := uint32(os.Geteuid())
	rules, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	snap, err := rules.With(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	p := denyProject
	fs := fsfake.New(p+"/.git/HEAD", p+"/.git/config", p+"/data/x.csv", p+"/src/a.py", p+"/other.env", "/home/ana/", "/tmp/").
		File(p+"/.env", "A=1\n").File(p+"/docker-compose.yml", "services:\n  a:\n    image: b\n").
		File(p+"/package.json", "{}").File("/home/ana/.npmrc", "").File("/home/ana/.aws/credentials", "").
		File("/home/ana/.config/gh/hosts.yml", "").File("/home/ana/.kube/config", "").File("/home/ana/.gitconfig", "")
	e := shipped.Engine(snap, fs, paths.Own{}, 1, noon, nil)
	var got []decisions.Verdict
	for _, command := range commands {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		d := e.Decide(t.Context(), &decisions.Request{
			Peer: decisions.Peer{UID: uid, PID: 7}, Session: decisions.SessionRef{ID: "s", Conn: 1},
			Call: effects.Call{
				ID: "c", Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Agent: effects.Party{Name: "claude-code"}, Input: input,
				Cwd: p, User: effects.User{UID: uid, Name: "ana", Home: "/home/ana"},
			},
		})[0]
		if d.By == decisions.ByFailure {
			t.Errorf("%s: %s", command, d.Reason)
		}
		got = append(got, d.Verdict)
	}
	return got
}

// TestDeniesInOtherWords: what a line denies is denied when a call does the same thing in
// another way, and other calls are answered as they are without the line.
func TestDeniesInOtherWords(t *testing.T) {
	for _, tt := range []struct{ name, line, denied, others string }{
		{
			"files that a program opens and obeys", "read: [./.env]",
			"docker compose ps|docker-compose ps|docker compose -f docker-compose.yml ps|cd src && docker compose ps",
			"docker ps|git status|cat src/a.py",
		},
		{
			"credentials that a program opens", "read: [~/.aws/**, ~/.config/gh/hosts.yml, ~/.kube/config, ~/.npmrc]",
			"aws --version|gh --version|gh pr list|kubectl version --client|npm ls|npm --version",
			"git status|git log|docker ps|ls",
		},
		{
			"a setting that is no secret", "read: [~/.gitconfig]",
			"cat ~/.gitconfig",
			"git status|git log -p",
		},
		{
			"files that git prints", "read: [./data/**]",
			"git show HEAD:data/x.csv|git show HEAD:./data/x.csv|git -C src show HEAD:data/x.csv|git cat-file -p HEAD:data/x.csv|" +
				"git cat-file blob :data/x.csv|git blame data/x.csv|git log -L1,2:data/x.csv|git diff -- data|git log -p -- data/x.csv|" +
				"git grep x|git grep x -- data|git archive HEAD data|git show HEAD:data/gone.csv|" +
				"git diff -- ':(top)data'|git diff :/data|git show HEAD -- ':(icase)DATA'|git diff -- ':(top,icase)Data/X.csv'|git --icase-pathspecs diff -- DATA",
			"git show|git show main|git show HEAD:src/a.py|git diff|git log -p|git blame src/a.py|git grep x -- src|git log --stat -- data|git diff --stat",
		},
		{
			"files that git takes back", "write: [./data/**]",
			"git checkout data/x.csv|git checkout HEAD data/x.csv|git checkout data|git checkout .|git checkout data/gone.csv|git checkout 'd*'|git checkout :/data|" +
				"git restore ':(top)data/x.csv'|git restore ':(icase)DATA'|git rm ':/data'",
			"git checkout main|git checkout -b data|git checkout -B data|git checkout src/a.py|git checkout HEAD~1|git checkout feature/data|git restore :/src",
		},
		{
			"another name for a file", "read: [./data/**]",
			"mv data/x.csv y|mv data d|mv data/x.csv y && cat y|git mv data d|ln data/x.csv y|mv -t src data/x.csv",
			"mv src/a.py y|mv src s|ln -s src/a.py y|cp src/a.py y",
		},
		{
			"words of what is not understood", "read: [./data/**]",
			"mytool data/x.csv|mytool --in=data/x.csv|mytool @data/x.csv|mytool -f ./src/../data/x.csv|gh gist create data/x.csv|" +
				"git add data/x.csv|awk -f data/x.csv|docker run -v ./data:/d img|docker run -v .:/d img|CONFIG=data/x.csv mytool|mytool ./data|mytool --in=data/",
			"mytool src/a.py|mytool data|mytool x.csv|git add src/a.py|docker run -v ./src:/d img",
		},
		{
			"files that a program may write", "write: [./data/**]",
			"sponge data/x.csv|mytool data/x.csv|mytool data/new.csv|mytool --out=data/new.csv|mytool out=./src/../data/x|mytool @data/x.csv|mytool ./data|mytool -o data/",
			"mytool src/a.py|mytool data|mytool x.csv|mytool 'data/x.csv is old'|mytool https://x.dev/data/x.csv|git add data/x.csv|cat data/x.csv|gh gist create data/x.csv|gh pr view data/x",
		},
		{
			"values that POSIXLY_CORRECT makes operands", "read: [./data/**]",
			"cut -c1 src/a.py -d data/x.csv|grep x src/a.py -m data/x.csv|head src/a.py -n ./data/x.csv|grep -r x src --exclude data/x.csv",
			"cut -d data/x.csv -c1 src/a.py|grep -m 1 x src/a.py|grep x src/a.py -m 1|git log main --author data/x.csv",
		},
		{
			"a command in the words of a program", `run: ["git push *"]`,
			"flock /tmp/x git push|chroot / git push|systemd-run --user git push -f|proxychains git push origin main|mytool -- git push|" +
				"script -qc 'git push' /dev/null|mytool --exec 'cd src && git push'|env -S 'git push'|git submodule foreach git push|" +
				"git submodule foreach 'git push'|git bisect run git push|fd -x git push|git -c core.pager='git push' log|" +
				"git -c alias.x=push x|git -c alias.x='!git push' x|GIT_PAGER='git push' git log|vim -c '!git push'|git-push origin|/usr/lib/git-core/git-push",
			"mytool git pull|mytool 'git push'|mytool --message 'git push fails'|git commit -m 'git push'|grep -r 'git push' src|echo git push|git log --grep 'git push'",
		},
		{
			"a sub-command of the same name", `run: ["rm *"]`,
			"rm src/a.py|flock /tmp/x /bin/rm src/a.py|mytool --exec 'rm src/a.py'",
			"mytool rm x|jj rm src/a.py|docker volume rm x",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := strings.Split(tt.denied, "|")
			deny := "deny:\n  " + tt.line + "\n"
			for i, v := range denied(t, deny, all...) {
				if v != decisions.Deny {
					t.Errorf("%s: %s, although %s denies it", all[i], v, tt.line)
				}
			}
			for i, v := range denied(t, "", all...) {
				if v == decisions.Deny {
					t.Errorf("%s is denied without the line", all[i])
				}
			}
			others := strings.Split(tt.others, "|")
			without := denied(t, "", others...)
			for i, v := range denied(t, deny, others...) {
				if v != without[i] {
					t.Errorf("%s: %s, and %s without the line %s", others[i], v, without[i], tt.line)
				}
			}
		})
	}
}

// TestAsksInOtherWords: a person's ask about a file holds for what names the file, and
// not for files that programs open by themselves.
func TestAsksInOtherWords(t *testing.T) {
	const rules = "ask:\n  read: [./data/**, ./.env]\n"
	commands := []string{"git show HEAD:data/x.csv", "git blame data/x.csv", "mv data/x.csv y", "docker compose ps", "git show HEAD:src/a.py"}
	want := []decisions.Verdict{decisions.Ask, decisions.Ask, decisions.Ask, decisions.Allow, decisions.Allow}
	for i, v := range denied(t, rules, commands...) {
		if v != want[i] {
			t.Errorf("%s: %s, want %s", commands[i], v, want[i])
		}
	}
	for i, v := range denied(t, "", commands...) {
		if v != decisions.Allow {
			t.Errorf("%s: %s without the asks", commands[i], v)
		}
	}
}

// allowsPrograms is the rule of a person who allows all runs.
const allowsPrograms = `package permd.user

import rego.v2

allow contains {"reason": "programs of mine", "covers": ["unknown"]} if {
	input.effect.kind in {"run", "unknown", "connect", "write"}
}
`

// TestAsksOfUnknownPrograms: a person's ask about writing a file holds for a program that
// nobody knows, although a rule allows its run; without one, or about another file, the
// run is allowed.
func TestAsksOfUnknownPrograms(t *testing.T) {
	commands := []string{"mytool src/a.py", "mytool --out=src/../src/a.py", "mytool src/b.py", "mytool data/x.csv", "mytool src", "mytool fix it"}
	for rules, asked := range map[string]int{"": 0, "ask:\n  write: [./src/a.py]\n": 2, "ask:\n  write: [./src/**]\n": 2} {
		for i, v := range answered(t, shipped.User{Rego: allowsPrograms, List: rules}, commands...) {
			if want := i < asked; (v == decisions.Ask) != want || v == decisions.Deny {
				t.Errorf("%q: %s: %s", rules, commands[i], v)
			}
		}
	}
}

// TestTooManyAsides: padding keeps nothing that is denied from being seen, and does not
// make a question of ordinary calls.
func TestTooManyAsides(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, line, call string
		padding          string
		most             int // times that the padding is allowed
	}{
		{"files that are named otherwise", "read: [./data/**]", "git show%s HEAD:data/x.csv", " HEAD:src/%d.py", 20},
		{"operands that may be files", "read: [./data/**]", "mytool%s --file=data/x.csv", " w%d", 20},
		{"operands that may be written", "write: [./data/**]", "mytool%s --file=data/new.csv", " w%d.x", 20},
		{"files that programs open", "read: [./.env]", "%s docker compose ps", "docker compose -p p%d ps; ", 5},
		{"deep folders", "read: [./.env]", "mkdir -p d/%[1]s && cd d/%[1]s && docker compose ps", "d%d/", 20},
		{"commands in words", "run: [git push]", "mytool%s --exec 'git push'", " --exec 'ls f%d'", 20},
		{"commands in words of commands in words", "run: [git push]", "mytool%s --exec 'flock /tmp/x git push'", " --exec 'flock /tmp/x ls f%d'", 5},
		{"packages", "run: [git push]", "brew install%s git push", " git jq p%d", 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := []string{fmt.Sprintf(tt.call, "")}
			most := []int{tt.most, 40, 300, 600}
			if testing.Short() {
				most = most[:3] // 600 do what 300 do
			}
			for _, n := range most {
				calls = append(calls, fmt.Sprintf(tt.call, repeat(n, tt.padding)))
			}
			for i, v := range answered(t, shipped.User{Rego: allowsPrograms, List: "deny:\n  " + tt.line + "\n"}, calls...) {
				if v == decisions.Allow || i < 2 && v != decisions.Deny {
					t.Errorf("%s: %s, although %s is denied", calls[i], v, tt.line)
				}
			}
			for i, v := range answered(t, shipped.User{Rego: allowsPrograms}, calls[:2]...) {
				if v != decisions.Allow {
					t.Errorf("%s: %s without the denying line", calls[i], v)
				}
			}
		})
	}
}

// TestOpenedLeftOut: a rule can leave out what programs open by themselves.
func TestOpenedLeftOut(t *testing.T) {
	const aws = "package permd.user\n\nimport rego.v2\n\ndeny contains \"credentials\" if {\n\tinput.effect.kind == \"read\"\n\tstartswith(input.effect.home_path, \".aws/\")\n"
	for rule, want := range map[string][]decisions.Verdict{
		aws + "}\n": {decisions.Deny, decisions.Deny},
		aws + "\tnot input.effect.by.inherent == true\n}\n": {decisions.Deny, decisions.Allow},
	} {
		if got := answered(t, shipped.User{Rego: rule}, "cat ~/.aws/credentials", "aws --version"); !slices.Equal(got, want) {
			t.Errorf("%v, want %v, by\n%s", got, want, rule)
		}
	}
}

// TestOwnCommandsInWords: a command of permd that changes what is decided is denied where
// another program gets it as its words; its name alone is not denied.
func TestOwnCommandsInWords(t *testing.T) {
	all := []string{
		"vim -c '!permd remember add run x'", "mytool --exec 'permd remember add run x'", "PAGER='permd serve' git log",
		"git -c alias.x='!permd serve' x", "flock /tmp/x permd remember add run x", "systemd-run --user permd serve", "gdb -p 1", "systemctl --user exit",
	}
	for i, v := range denied(t, "", all...) {
		if v != decisions.Deny {
			t.Errorf("%s: %s", all[i], v)
		}
	}
	others := []string{"vim -c '!ls' permd.md", "mytool --exec 'permd status'", "mytool permd", "grep permd src/a.py", "gdb -p 4242", "systemctl --user status"}
	for i, v := range denied(t, "", others...) {
		if v == decisions.Deny {
			t.Errorf("%s: %s", others[i], v)
		}
	}
}
