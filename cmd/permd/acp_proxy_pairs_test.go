package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// nodeModules names the folder with the packages of testdata/node/package.json.
const nodeModules = "PERMD_TEST_NODE_MODULES"

// node returns how a script of testdata/node is run, and skips where it cannot.
func node(t *testing.T, script string) []string {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	modules := os.Getenv(nodeModules)
	if modules == "" {
		t.Skip(nodeModules + " names no folder with the packages of testdata/node/package.json: npm ci makes one, .ci/run does it")
	}
	if _, err := os.Stat(filepath.Join(modules, "@agentclientprotocol", "sdk", "package.json")); err != nil {
		t.Fatalf("%s: %v", nodeModules, err)
	}
	path, err := filepath.Abs(filepath.Join("testdata", "node", script))
	if err != nil {
		t.Fatal(err)
	}
	return []string{program, path}
}

// pairPolicy decides the pairs' plans, in addition to the shipped rules.
const pairPolicy = `
deny contains "no terraform" if input.effect.program == "terraform"
deny contains "locked" if { input.effect.kind == "write"; endswith(input.effect.path, "/locked") }
deny contains "no yolo" if { input.effect.kind == "mode"; input.call.raw.modeId == "yolo" }`

// pairSteps is a conversation with all kinds of messages that the proxy handles.
func pairSteps(project string) []pairStep {
	return []pairStep{
		{Prompt: "run git status && cat main.go", Pick: []string{"Allow"}, said: "allow-once", permd: true},
		{Prompt: "run rm -rf ~", Pick: []string{"Reject"}, said: "reject", permd: true},
		{Prompt: "run git commit -m x", Pick: []string{"Reject"}, said: "reject"},
		{Prompt: "run git commit -m main", Pick: []string{"Allow"}, said: "allow-once"},
		{Prompt: "run git commit -m main", Pick: []string{"Always, any `git commit`", "Allow"}, said: "allow-once"},
		{Prompt: "run git commit -m other", Pick: []string{"Allow"}, said: "allow-once", permd: true},
		{Prompt: "run make install", Pick: []string{"cancel"}, said: "cancelled"},
		{Prompt: "withdraw make deploy", Pick: []string{"withdraw"}, said: "refused -32800"},
		{Prompt: "stop make deploy", Pick: []string{"stop"}, Code: -32800, said: "cancelled"},
		{Prompt: "write " + project + "/free", said: "wrote"},
		{Prompt: "write " + project + "/locked", said: "refused -32001", permd: true},
		{Prompt: "read " + project + "/main.go", said: "content"},
		{Prompt: "terminal ls -l", said: "listing 0"},
		{Prompt: "terminal terraform apply", said: "refused -32001", permd: true},
		{Mode: "ask"},
		{Mode: "yolo", Code: -32001, permd: true},
		{Load: "old"},
		{Prompt: "echo é <&>  \u2028 \" \\", said: "é <&>  \u2028 \" \\"},
		{Prompt: "say 300000", said: strings.Repeat("é", 150000)},
		{Prompt: "run git status", Pick: []string{"Allow"}, said: "allow-once", permd: true},
	}
}

// pairSteps2 are those that version 2 of the protocol has.
func pairSteps2(project string) (steps []pairStep) {
	for _, s := range pairSteps(project) {
		switch verb, _, _ := strings.Cut(s.Prompt, " "); verb {
		case "run", "withdraw", "echo", "say":
			steps = append(steps, s)
		}
	}
	return steps
}

// TestProxyPairs runs conversations between clients and agents of two SDKs, none of
// which knows permd, with permd acp between them and without it. Both times each side
// must send and receive the same bytes, except for the requests that permd answers, the
// other requests as the person is shown them, and the option that the person selects.
func TestProxyPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs each pair of SDKs")
	}
	t.Parallel()
	self := []string{os.Args[0], asAgent}
	goAgent := func(*testing.T) []string { return append(self[:2:2], "pair") }
	goClient := func(*testing.T) []string { return append(self[:2:2], "pair-client") }
	script := func(name string) func(*testing.T) []string {
		return func(t *testing.T) []string { return node(t, name) }
	}
	type pair struct {
		name          string
		client, agent func(*testing.T) []string
		steps         func(project string) []pairStep
	}
	pairs := []pair{
		{"Go and Go", goClient, goAgent, pairSteps},
		{"Go and Node", goClient, script("agent.mjs"), pairSteps},
		{"Node and Go", script("client.mjs"), goAgent, pairSteps},
		{"Node and Node", script("client.mjs"), script("agent.mjs"), pairSteps},
		{"Node and Node, version 2", script("client2.mjs"), script("agent2.mjs"), pairSteps2},
	}
	for _, tt := range testload.SampleOf(t, 3, pairs, func(p pair) string {
		if p.name == "Go and Node" || p.name == "Node and Go" || p.name == "Node and Node" {
			return "between languages"
		}
		return p.name
	}) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, agent := tt.client(t), tt.agent(t)
			d := newTestDaemon(t)
			d.env = append(d.env, nodeModules+"="+os.Getenv(nodeModules))
			d.policy(t, "pairs.rego", pairPolicy)
			d.start(t)
			project := d.project(t, map[string]string{"main.go": "package main\n"})
			plan := pairPlan{Cwd: project, Steps: tt.steps(project)}
			without := d.converse(t, client, agent, plan, nil)
			with := d.converse(t, client, agent, plan, []string{"acp", "--"})
			with.checkPassage(t, plan)
			with.checkAgainst(t, without)
			var said []string
			for _, s := range plan.Steps {
				if s.Prompt != "" {
					said = append(said, s.said)
				}
			}
			if d := cmp.Diff(said, with.texts()); d != "" {
				t.Errorf("the agent said (-want +got):\n%s", d)
			}
		})
	}
}

// received is one conversation, as seen at the four ends: lines with their
// newlines.
type received struct {
	clientSaid, clientHeard []string
	agentSaid, agentHeard   []string
}

// converse has a client and an agent talk with each other, with permd between
// them if there are arguments for it.
func (d *testDaemon) converse(t *testing.T, client, agent []string, plan pairPlan, permd []string) *received {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "plan.json")
	writeFile(t, path, string(data))
	far := append([]string{os.Args[0], asAgent, "tap", dir}, agent...)
	if permd != nil {
		far = append(append([]string{os.Args[0]}, permd...), far...)
	}
	var said, heardBytes bytes.Buffer
	var errs lockedBuffer
	ends := [2]*exec.Cmd{exec.Command(client[0], append(client[1:len(client):len(client)], path)...), exec.Command(far[0], far[1:]...)}
	var in [2]io.WriteCloser
	var out [2]*bufio.Reader
	for i, cmd := range ends {
		cmd.Env, cmd.Stderr = d.env, &errs
		in[i], out[i] = started(t, cmd)
		watch := time.AfterFunc(eventually.Limit, func() { cmd.Process.Kill() })
		defer watch.Stop()
	}
	var both sync.WaitGroup
	pass := func(to io.WriteCloser, record *bytes.Buffer, from io.Reader) {
		both.Go(func() {
			_, _ = io.Copy(io.MultiWriter(record, to), from)
			to.Close()
			_, _ = io.Copy(record, from)
		})
	}
	pass(in[1], &said, out[0])
	pass(in[0], &heardBytes, out[1])
	both.Wait()
	for i, cmd := range ends {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v\n%s", []string{"the client", "the agent"}[i], err, errs.String())
		}
	}
	return &received{
		clientSaid: pairLines(said.Bytes()), clientHeard: pairLines(heardBytes.Bytes()),
		agentSaid: pairLinesOf(t, filepath.Join(dir, "agent-said")), agentHeard: pairLinesOf(t, filepath.Join(dir, "agent-received")),
	}
}

// runTap runs an agent and records its input and output.
func runTap(dir string, agent []string) int {
	received, err := os.Create(filepath.Join(dir, "agent-received"))
	if err != nil {
		return 125
	}
	said, err := os.Create(filepath.Join(dir, "agent-said"))
	if err != nil {
		return 125
	}
	cmd := exec.Command(agent[0], agent[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 125
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 125
	}
	if err := cmd.Start(); err != nil {
		return 125
	}
	go func() {
		_, _ = io.Copy(io.MultiWriter(received, in), os.Stdin)
		in.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(said, os.Stdout), out)
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

func pairLines(data []byte) (lines []string) {
	for line := range bytes.Lines(data) {
		lines = append(lines, string(line))
	}
	return lines
}

func pairLinesOf(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return pairLines(data)
}
