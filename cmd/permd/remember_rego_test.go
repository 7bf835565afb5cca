package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

// TestExportedRegoDecidesAlike: a daemon with only the exported rules decides calls as one with only
// the choices does, in their project and in another one.
func TestExportedRegoDecidesAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it decides many calls in two daemons; TestExportByID is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	files := map[string]string{"go.mod": "module m\n", "a.go": "package m\n", "docs/x.md": "x\n", "package.json": `{"scripts": {"test": "echo 1"}}`}
	shop, other := d.project(t, files), filepath.Join(d.home, "other")
	for name, text := range files {
		writeFile(t, filepath.Join(other, name), text)
	}
	writeFile(t, filepath.Join(other, ".git", "HEAD"), "ref: refs/heads/main\n")
	for _, c := range []string{
		"run|go test *|project|allow", "run|go vet ./a|project|allow", "run|mkdir *|user|allow", "run|git push *|project|deny", "run|rm *|user|deny", "run|touch b|project|deny",
		"run|rm 7.txt|project|allow", "run|cp a.go nn *|user|allow", "run|curl -s -o a.txt https://free.example/|project|allow",
		"write|./docs/**|project|allow", "write|/srv/out/**|user|allow", "read|./.env|project|allow", "read|./secret/**|project|deny", "delete|./a.go|project|deny",
		"connect|x.example|project|allow", "connect|docs.example|user|allow", "connect|*.evil.example|user|deny", "use|s:t|project|allow", "use|s:bad|user|deny",
	} {
		part := strings.Split(c, "|")
		n := admin.NewChoice{Kind: part[0], Line: part[1], Scope: part[2], Verdict: decisions.Verdict(part[3]), Dir: shop}
		if err := d.manage(t, admin.MethodChoicesAdd, n, nil); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
	}
	left := strings.Fields(d.permd(t, "remember", "add", "run", "npm test", "--dir", shop))[0]
	ends := strings.Fields(d.permd(t, "remember", "add", "run", "go build *", "--dir", shop, "--for", "1h"))[0]
	text := d.permd(t, "remember", "export", "--format", "rego")
	if !strings.Contains(text, "# Left out: allow run npm test (project "+shop+"): bound to files") || !strings.Contains(text, "# Left out: allow run go build * (project "+shop+"): it ends, and a rule does not") || strings.Count(text, "# Left out: ") != 2 {
		t.Errorf("left out are:\n%.2000s", text)
	}
	if jsonl := d.permd(t, "remember", "export", "--format", "jsonl"); jsonl != d.permd(t, "remember", "export", "--json") || !strings.HasPrefix(jsonl, `{"choiceId":`) {
		t.Errorf("as JSON: %s", jsonl)
	}
	if _, errs, code := printed(d.command("remember", "export", "--format", "xml")); code != 2 || !strings.Contains(errs, "one of: rules, rego, jsonl") {
		t.Errorf("an unknown format: %d %s", code, errs)
	}
	d.permd(t, "remember", "forget", left, ends)
	type call struct {
		in, tool string
		input    map[string]string
	}
	var calls []call
	for in, dir := range map[string]string{"shop": shop, "other": other} {
		for _, command := range []string{
			"go test ./a", "go test ./...", "go test ./a -exec x", "go vet ./a", "go vet ./b", "go vet", "mkdir x", "mkdir -p x/y", "mkdir /srv/x", "git push", "git push -f x", "rm a", "rm -rf x", "touch b", "touch ./b c",
			"echo x > docs/y.md", "echo x > a.go", "echo x > /srv/out/y", "cat .env", "cat secret/x", "head secret/x", "rm a.go", "unlink a.go", "curl https://x.example/", "curl https://docs.example/a", "curl https://a.evil.example/", "ls", "frob", "rm 7.txt", "cp a.go nn", "timeout 5 cp a.go nn", "curl -s -o a.txt https://free.example/",
			"go test ./a && git push", "go test ./a; mkdir z", "cd docs && go test ./a", "cd /tmp && go test ./a", "A=b go test ./a", "echo x | go test ./a", "go test ./a < a.go", "curl -d x https://x.example/", "cat " + shop + "/secret/x", "rm " + shop + "/a.go",
		} {
			calls = append(calls, call{in, "Bash", map[string]string{"command": command}})
		}
		for _, name := range []string{"a.go", "docs/x.md", "docs/d/y.md", ".env", "secret/x"} {
			for _, tool := range []string{"Read", "Write"} {
				calls = append(calls, call{in, tool, map[string]string{"file_path": filepath.Join(dir, name), "content": "x"}})
			}
		}
		for _, tool := range []string{"mcp__s__t", "mcp__s__bad", "mcp__s__u"} {
			calls = append(calls, call{in, tool, map[string]string{"x": "1"}})
		}
	}
	p := d.asks(t, shop)
	by := map[decisions.DecidedBy]int{}
	decide := func(round string) (list []*decisions.Decision) {
		for i, c := range calls {
			session := fmt.Sprint(round, i)
			p.session(session, map[string]string{"shop": shop, "other": other}[c.in], "")
			list = append(list, p.ask(session, c.tool, c.input))
		}
		return list
	}
	remembered := decide("remembered")
	d.permd(t, "remember", "forget", "--all")
	d.policyText(t, "remembered.rego", text)
	d.permd(t, "reload")
	out, errs, code := printed(d.command("policy", "check"))
	if code != 0 {
		t.Fatalf("policy check: %d %s%s", code, out, errs)
	}
	for i, now := range decide("exported") {
		by[remembered[i].By]++
		if before := remembered[i]; now.Verdict != before.Verdict {
			t.Errorf("%s %s %v: the choices say %s (%s), the rules %s (%s)", calls[i].in, calls[i].tool, calls[i].input, before.Verdict, before.Reason, now.Verdict, now.Reason)
		}
	}
	if by[decisions.ByMemory] < 30 {
		t.Errorf("decided: %v", by)
	}
}

// policyText replaces a file of the person's rules.
func (d *testDaemon) policyText(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(d.home, ".config", "permd", "policy.d", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, text)
}
