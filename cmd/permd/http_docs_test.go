package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// httpPage is docs/http.md up to its first part: the set-up and its commands.
func httpPage(t *testing.T) string {
	t.Helper()
	page, _, ok := strings.Cut(readPage(t, "../../docs/http.md"), "\n## ")
	if !ok {
		t.Fatal("docs/http.md has no part")
	}
	return page
}

func pageBlocks(page, info string) (texts []string) {
	for _, m := range regexp.MustCompile("(?s)\n```"+info+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		texts = append(texts, m[1])
	}
	return texts
}

// TestHTTPPageCommands runs the commands of the page and compares what they print.
func TestHTTPPageCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the commands of a page")
	}
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	page := httpPage(t)
	toml := pageBlocks(page, "toml")
	if len(toml) != 1 {
		t.Fatalf("the page sets %q", toml)
	}
	unix := newTestDaemon(t)
	writeFile(t, filepath.Join(unix.home, ".config", "permd", "permd.toml"), toml[0])
	unix.start(t)
	loopback, c := startHTTP(t, "127.0.0.1:0")
	ran := 0
	for _, block := range pageBlocks(readPage(t, "../../docs/http.md"), "console") {
		command, want, _ := strings.Cut(strings.TrimPrefix(block, "$ "), "\n")
		if strings.HasPrefix(command, "systemctl ") {
			continue // it is the manager's, which is not there in a test
		}
		d := unix
		if strings.Contains(command, "http://127.0.0.1:8181") {
			d = loopback
			command = strings.ReplaceAll(command, "http://127.0.0.1:8181", c.url)
		}
		var person sync.WaitGroup
		if strings.Contains(command, "Prefer: wait") {
			person.Go(func() { d.permd(t, "allow", d.waiting(t, 1)[0]) })
		}
		got, err := d.shell(d.home, command)
		person.Wait()
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*")
		if err != nil || !regexp.MustCompile("^"+pattern+"$").MatchString(strings.TrimSpace(got)) {
			t.Errorf("%s\nprints %s, want %s: %v", command, got, want, err)
		}
		ran++
	}
	if ran != 4 {
		t.Errorf("%d commands were run", ran)
	}
}

// TestHTTPPageAISDK uses the module of the page, and the client of examples, with
// the package from npm.
func TestHTTPPageAISDK(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs a package of npm")
	}
	t.Parallel()
	run := node(t, "policy_opa.mjs")
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), httpRules)
	d.listensHTTP(t, "127.0.0.1:0")
	d.start(t)
	c := d.http(t)
	blocks := pageBlocks(readPage(t, "../../docs/http.md"), "js")
	if len(blocks) != 1 || !strings.Contains(blocks[0], "http://127.0.0.1:8181") {
		t.Fatalf("the page has %q", blocks)
	}
	example, err := os.ReadFile("../../examples/clients/policy-opa/permd.mjs")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(os.Getenv(nodeModules), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "page.mjs"), strings.ReplaceAll(blocks[0], "http://127.0.0.1:8181", c.url))
	writeFile(t, filepath.Join(dir, "permd.mjs"), string(example))
	writeFile(t, filepath.Join(dir, "main.mjs"), `import { opaPolicy } from '@ai-sdk/policy-opa';
const permd = process.argv[2] === 'page' ? undefined : await import('./permd.mjs');
const toolApproval = permd === undefined
  ? (await import('./page.mjs')).toolApproval
  : opaPolicy({ client: permd.permdClient(process.argv[3]), path: process.argv[4] ?? 'permd/decision' });
const said = [];
for (const toolName of ['weather', 'wipe', 'deploy']) {
  said.push((await toolApproval({ toolCall: { toolName, toolCallId: 'c1', input: {} }, messages: [], runtimeContext: {} })).type);
}
console.log(said.join(' '));
`)
	play := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(run[0], append([]string{filepath.Join(dir, "main.mjs")}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+d.home, "XDG_RUNTIME_DIR="+d.run)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("node: %v", err)
		}
		return strings.TrimSpace(string(out))
	}
	const decided, denied = "approved denied user-approval", "denied denied denied"
	if got := play("page"); got != decided {
		t.Errorf("the page's module: %s", got)
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	if got := play("page"); got != denied {
		t.Errorf("the page's module without permd: %s", got)
	}
	if got := play("client"); got != denied {
		t.Errorf("the client without permd: %s", got)
	}
	d.listensHTTP(t, "unix")
	d.start(t)
	if got := play("client"); got != decided {
		t.Errorf("the client: %s", got)
	}
	if got := play("client", d.status(t).HTTP, "permd/nothing"); got != denied {
		t.Errorf("the client with another path: %s", got)
	}
	for name, answer := range map[string]string{
		"nothing": "", "an empty answer": `{}`, "no result": `{"result":null}`, "no JSON": "allow",
		"an allow of another form": `{"result":true}`, "a redirect": "302", "no content": "204",
	} {
		if got := play("client", pretendHTTP(t, answer)); got != denied {
			t.Errorf("the client of a server that says %s: %s", name, got)
		}
	}
}

// pretendHTTP is a server that answers everything in the same way.
func pretendHTTP(t *testing.T, answer string) string {
	t.Helper()
	status := "200 OK"
	if len(answer) == 3 {
		status, answer = answer+" Other", ""
	}
	d := newTestDaemon(t)
	path := filepath.Join(d.run, "http.sock")
	listenRaw(t, path, fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(answer), answer))
	return path
}

// listenRaw answers each connection to a socket with a text.
func listenRaw(t *testing.T, path, text string) {
	t.Helper()
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			// The header shows that a request has arrived.
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, text)
			c.Close()
		}
	}()
}
