package decisions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/testload"
)

// ownCommands reads permd's own entry of the program table.
func ownCommands(t *testing.T) (reads, changes []string) {
	t.Helper()
	data, err := os.ReadFile("effects/own/own_commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var words []string
		for _, w := range strings.Fields(line) {
			if !strings.HasPrefix(w, "-") {
				words = append(words, w)
			}
		}
		switch command := strings.Join(words[min(2, len(words)):], " "); words[0] {
		case "reads":
			reads = append(reads, command)
		case "changes":
			changes = append(changes, command)
		}
	}
	if len(reads) < 10 || len(changes) < 10 {
		t.Fatalf("%d commands that read, %d that change", len(reads), len(changes))
	}
	return reads, changes
}

// waysToRun are command lines that run permd with the words in place of %.
var waysToRun = []string{
	"permd %", "PERMD %", "permd --json %", "permd --root /x %", "permd --root=/x %", "/usr/local/bin/permd %", "./permd %", "../x/permd %", `\permd %`, `"per"md %`, `p='permd'; $p %`,
	"env permd %", "env A=b permd %", "PERMD_SOCKET=/x/permd.sock permd %", "sudo permd %", "sudo -u other permd %", "doas permd %",
	"nohup permd % &", "timeout 5 permd %", "nice -n 5 permd %", "setsid permd %", "stdbuf -o0 permd %", "time permd %", "command permd %", "exec permd %", "builtin command permd %",
	"busybox env permd %", "busybox sh -c 'permd %'", "sh -c 'permd %'", "bash -lc 'permd %'", "bash -c 'exec permd %'", "eval permd %", "eval 'permd %'",
	"(permd %)", "{ permd %; }", "echo $(permd %)", "if true; then permd %; fi", "for x in 1; do permd %; done", "while permd %; do :; done", "f() { permd %; }; f",
	"ls && permd %", "ls | permd %", "permd % | head", "permd % <<< x", "true || permd %", "! permd %",
	"xargs permd %", "echo | xargs -n1 permd %", "find . -exec permd % ';'", "find . -execdir permd % {} +",
	"go run ./cmd/permd %", "go run github.com/permd/permd/cmd/permd@latest %", "go run cmd/permd/main.go %", "go run -race ./cmd/permd %",
	"frob permd %", "frob -- /opt/permd/permd %", "strace -f permd %", "watch permd %", "script -c 'permd %' /dev/null", "unshare permd %",
	"python3 -c 'import os; os.system(\"permd %\")'", "perl -e 'system \"permd %\"'", "node -e 'require(\"child_process\").execSync(\"permd %\")'",
	"awk 'BEGIN { system(\"permd %\") }'", "ruby -e '`permd %`'", "python3 - <<E\nimport os\nos.system('permd %')\nE", "sh <<E\npermd %\nE",
	"ssh localhost permd %", "npx permd %", "nix run nixpkgs#permd -- %",
	"coreutils --coreutils-prog=env permd %", "./link %", "./other %", "renamed %",
}

// world makes a project with links to permd, and a permd with another name.
func ownWorld(t *testing.T, e *Engine, r *Request) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"permd", "started-from"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("\x7fELF"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		filepath.Join(r.Call.Cwd, "link"):  filepath.Join(dir, "permd"),
		filepath.Join(r.Call.Cwd, "other"): filepath.Join(dir, "started-from"),
		filepath.Join(dir, "renamed"):      filepath.Join(dir, "permd"),
	} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	e.own = paths.OwnFiles("/run/user/1000/permd/permd.sock", "/srv/own/control.sock").WithProgram([]string{filepath.Join(dir, "started-from")}, []string{dir})
}

// TestOwnCommandsAreDenied begins with a rule and a remembered choice that allow
// everything: no command of permd that changes something may run, however it is
// started, and no width is offered.
func TestOwnCommandsAreDenied(t *testing.T) {
	p, m, _, e := newFakes(t)
	p.fired = []Finding{{Rule: finding(User, SetAllow).Rule, Set: SetAllow, CoversUnknown: true, Covers: effects.TagsOf(effects.AllTags()...)}}
	m.allow = &Choice{ID: "wide", Label: "permd remember *"}
	e.proposer = &fakeProposer{}
	reads, changes := ownCommands(t)
	r := bash(t, "")
	ownWorld(t, e, r)
	decide := func(command string) *Decision {
		r.Call.Input = []byte(`{"command":` + strings.ReplaceAll(quote(command), "\n", `\n`) + `}`)
		return e.Decide(t.Context(), r)[0]
	}
	for _, way := range testload.WithShort(t, len(waysToRun)/8, waysToRun) {
		for _, words := range append(changes, "remember add connect evil.example", "allow 01a1 --width w3 --scope user", "remember --json add run x") {
			command := strings.ReplaceAll(way, "%", words)
			if d := decide(command); d.Verdict != Deny {
				t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
			}
		}
	}
	for _, words := range reads {
		for _, way := range []string{"permd %", "/usr/local/bin/permd --json %", "permd % --help", "permd % | head", "timeout 5 permd %", "./link %"} {
			if words == "" && strings.Contains(way, "-") {
				continue
			}
			command := strings.ReplaceAll(way, "%", words)
			if d := decide(command); d.Verdict == Deny {
				t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
			}
		}
	}
	for _, command := range []string{
		"permd log list --limit 5 --since 24h", "permd explain - < call.json", "permd decide --local x.json", "permd remember add --help", "permd hook -h", "permd --version",
		"permd policy test rego/base -v", "permd log show \"$id\"",
	} {
		if d := decide(command); d.Verdict == Deny {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

// TestOwnProgramIsNotOffered: a question about permd can be allowed once, but not
// remembered.
func TestOwnProgramIsNotOffered(t *testing.T) {
	p, _, _, e := newFakes(t)
	p.fired = nil
	e.proposer = &fakeProposer{}
	for _, command := range []string{"permd remember list", "permd status", "ls; permd status", "timeout 5 permd log list", "go run ./cmd/permd status", "sh -c 'permd status'"} {
		d := e.Decide(t.Context(), bash(t, command))[0]
		if d.Verdict != Ask || len(d.Widths) > 0 || d.Offer != nil && d.Offer.Sets != nil {
			t.Errorf("%s: %s, offered %v", command, d.Verdict, d.Widths)
		}
	}
	if d := e.Decide(t.Context(), bash(t, "touch permd"))[0]; len(d.Widths) == 0 {
		t.Error("touch permd: nothing is offered")
	}
}

// TestOwnSocketsAreDenied: no client may be used on permd's sockets.
func TestOwnSocketsAreDenied(t *testing.T) {
	p, _, _, e := newFakes(t)
	p.fired = []Finding{{Rule: finding(User, SetAllow).Rule, Set: SetAllow, CoversUnknown: true, Covers: effects.TagsOf(effects.AllTags()...)}}
	r := bash(t, "")
	ownWorld(t, e, r)
	for _, socket := range []string{
		"/run/user/1000/permd/permd.sock", "/srv/own/control.sock", "/run/permd-admin/admin.sock", "$XDG_RUNTIME_DIR/permd-admin/admin.sock", "/run/permd-http/http.sock",
	} {
		for _, client := range []string{
			"curl --unix-socket % http://x/", "curl --unix-socket=% http://x/", "nc -U %", "nc -NU % < x", "ncat -U %", "socat - UNIX-CONNECT:%", "socat UNIX:% -",
			"frob %", "frob --socket=%", "python3 -c \"import socket; s = socket.socket(1); s.connect('%')\"", "node client.js %", "ln -s % s", "ln % s",
			"python3 - <<E\nopen('%')\nE", "go run ./client %", "websocat ws+unix:%:/x", "ssh -L x:% host",
		} {
			command := strings.ReplaceAll(client, "%", socket)
			r.Call.Input = []byte(`{"command":` + strings.ReplaceAll(quote(command), "\n", `\n`) + `}`)
			if d := e.Decide(t.Context(), r)[0]; d.Verdict != Deny && !strings.Contains(socket, "$") {
				t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
			}
		}
	}
}

// TestOwnNameIsNoUse: work on files and text with permd's name stays allowed.
func TestOwnNameIsNoUse(t *testing.T) {
	_, _, _, e := newFakes(t)
	for _, command := range []string{
		"git add permd serve", "git commit -m 'let permd serve start; permd remember add'", "grep -rn 'permd remember add' docs", "grep permd init", "ls permd", "cd permd && ls",
		"go build -o bin ./cmd/permd", "go test ./cmd/permd -run TestServe", "go vet ./cmd/permd", "mkdir permd", "cp permd init x", "echo permd serve", "cat docs/permd.md",
		"rg 'permd allow' .", "sed -n 1,5p permd", "ls -l /run/user/1000/permd/permd.sock", "test -S /run/user/1000/permd/permd.sock", "make permd", "npm test permd", "pytest -k permd",
		"systemctl --user status permd", "python3 tools/check.py permd docs", "echo 'see /run/permd/permd.sock' > notes.md",
		"gh pr create --title 'permd serve starts' --body 'permd remember add is denied'",
	} {
		if d := e.Decide(t.Context(), bash(t, command))[0]; d.Verdict == Deny {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

// TestOwnProgramIsGuarded: permd's program is one of its files.
func TestOwnProgramIsGuarded(t *testing.T) {
	_, _, _, e := newFakes(t)
	r := bash(t, "")
	ownWorld(t, e, r)
	dir, err := filepath.EvalSymlinks(filepath.Join(r.Call.Cwd, "other"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"cp x %", "rm %", "echo x > %", "mv % y", "rm -rf " + filepath.Dir(dir), "cp x other", "install -m 755 x %"} {
		command = strings.ReplaceAll(command, "%", dir)
		r.Call.Input = []byte(`{"command":` + quote(command) + `}`)
		if d := e.Decide(t.Context(), r)[0]; d.Verdict != Deny {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

// TestProjectRules: what names a project's own rules is denied. Of a call that may change them
// with all else in a folder a person can say whether it may, and nobody else.
func TestProjectRules(t *testing.T) {
	p, m, _, e := newFakes(t)
	allow := finding(Org, SetAllow)
	allow.Covers, allow.CoversUnknown = ^effects.Tags(0), true
	p.fired = []Finding{allow}
	m.allow = &Choice{ID: "a", Exact: true}
	root := repository(t)
	for _, dir := range []string{"/.permd", "/sub/.permd", "/src"} {
		if err := os.MkdirAll(root+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".permd", root+"/link"); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]Verdict{
		"tar xf a.tar": Ask, "tar xf a.tar -C sub": Ask, "tar xf a.tar -C src": Allow, "unzip a.zip": Ask, "patch -p1 < x": Ask, "eslint --fix .": Ask,
		"git clean -fd": Ask, "cp -r /srv/x .": Ask, "rm -rf *": Ask, "rm -rf sub": Ask, "find . -name '*.o' -delete": Ask, "chmod -R 700 .": Ask, "rsync -a /srv/x/ .": Ask,
		"rm -rf .permd": Deny, "rm -rf sub/.permd": Deny, "rm -rf .PERMD/": Deny, "tar xf a.tar -C .permd": Deny, "tar xf a.tar -C link": Deny, "eslint --fix .permd": Deny,
		"cp -r /srv/x .permd": Deny, "cp -r /srv/.permd .": Deny, "mv sub/.permd x": Deny, "chmod -R 700 ./.permd": Deny, "mkdir -p src/.permd": Deny, "rm .permd/*": Deny,
		"grep -r x .": Allow, "rm -rf src": Allow,
	} {
		if got := e.Decide(t.Context(), bashIn(root, command))[0]; got.Verdict != want {
			t.Errorf("%s: got %s (%s), want %s", command, got.Verdict, got.Reason, want)
		}
	}
}
