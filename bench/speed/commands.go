package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/permd/permd/socket/acp"
)

// hookClaude is the program whose time has a budget.
const hookClaude = "permd hook claude"

// program is a whole process that answers one call and ends.
type program struct {
	Name string  `json:"name"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	CPU  float64 `json:"cpu_ms"` // of the process alone, at the median
	Runs int     `json:"runs"`

	make func(ctx context.Context, argument string) *exec.Cmd
	want string // in what it prints
	took []time.Duration
	cpu  []float64
}

// run starts the program for a call and waits for its end.
func (p *program) run(ctx context.Context, argument int) error {
	cmd := p.make(ctx, strconv.Itoa(argument))
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", p.Name, err, lastLine(failed.Bytes()))
	}
	if !bytes.Contains(out.Bytes(), []byte(p.want)) {
		return fmt.Errorf("%s: %w: %s", p.Name, errWrongAnswer, out.Bytes())
	}
	p.took = append(p.took, took)
	p.cpu = append(p.cpu, float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())/float64(time.Millisecond))
	return nil
}

func (p *program) finish() {
	slices.Sort(p.took)
	p.P50, p.P99 = micros(percentile(p.took, 0.5))/1000, micros(percentile(p.took, 0.99))/1000
	p.CPU, p.Runs = median(p.cpu), len(p.took)
}

// command returns how a program is started, with the environment of a daemon's clients.
func (w *world) command(daemon *server, stdin string, words ...string) func(context.Context, string) *exec.Cmd {
	return func(ctx context.Context, argument string) *exec.Cmd {
		replace := func(s string) string {
			return string(bytes.ReplaceAll([]byte(s), []byte(argumentMarker), []byte(argument)))
		}
		args := make([]string, len(words))
		for i, word := range words {
			args[i] = replace(word)
		}
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = w.project
		cmd.Env = daemon.cmd.Env
		cmd.Stdin = bytes.NewReader([]byte(replace(stdin)))
		return cmd
	}
}

// programs returns the programs of the second table. Those that are not there are named.
func (p *plan) programs(ctx context.Context, o options) ([]*program, error) {
	w, daemon := p.world, p.world.servers[serverPermd]
	call := fmt.Sprintf(`{"session_id":"s","cwd":%q,"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git log -n %s"},"tool_use_id":"t"}`,
		w.project, argumentMarker)
	request := string(withID(line("permd/session", declaration(w.project)))) + line(acp.MethodRequestPermission, params(toolCall(command, small, w.project)))
	request = string(bytes.ReplaceAll([]byte(request), []byte(idMarker), []byte("1")))
	all := []*program{
		{Name: "true", make: w.command(daemon, "", "true")},
		{Name: hookClaude, want: `"permissionDecision":"allow"`, make: w.command(daemon, call, p.permd, "hook", "claude")},
		{Name: "permd decide", want: "allow: ", make: w.command(daemon, request, p.permd, "decide", "-")},
		{Name: "permd decide --local", want: "allow: ", make: w.command(daemon, request, p.permd, "decide", "--local", "-")},
	}
	if opa := p.opa; opa != "" {
		all = append(all, &program{
			Name: "opa eval", want: `"only looks at the project"`,
			make: w.command(daemon, string(p.documents[command]), opa, "eval", "--data", filepath.Join(w.dir, "rules"), "--stdin-input", "data.speed.base"),
		})
	}
	others, err := w.others(ctx, o, daemon)
	return append(all, others...), err
}

// npmPackages are the packages of other programs that answer such calls by rules.
var npmPackages = map[string]string{"@openai/codex": "0.169.0", "@google/gemini-cli-core": "0.61.0"}

// geminiScript asks the policy engine of Gemini CLI about one command.
const geminiScript = `console.debug = console.log = () => {};
const at = process.argv[2] + "/@google/gemini-cli-core/dist/src/policy/";
const { PolicyEngine } = await import(at + "policy-engine.js");
const { PolicyDecision } = await import(at + "types.js");
const engine = new PolicyEngine({ defaultDecision: PolicyDecision.ASK_USER, rules: [
  { toolName: "run_shell_command", argsPattern: /"command":"git log(?:[\s"]|\\")/, decision: PolicyDecision.ALLOW, priority: 10 },
] });
const { decision } = await engine.check({ name: "run_shell_command", args: { command: process.argv[3] } }, undefined);
process.stdout.write(decision + "\n");
`

// codexRule is the rule for Codex that allows what is asked.
const codexRule = `prefix_rule(pattern=["git", "log"], decision="allow")` + "\n"

// others returns programs of other people that decide about one command by one rule.
func (w *world) others(ctx context.Context, o options, daemon *server) ([]*program, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "permd-bench", "npm")
	if o.npm {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		args := []string{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"}
		for name, version := range npmPackages {
			args = append(args, name+"@"+version)
		}
		if out, err := exec.CommandContext(ctx, "npm", args...).CombinedOutput(); err != nil {
			w.missing = append(w.missing, fmt.Sprintf("installing from npm: %v: %s", err, lastLine(out)))
		}
	}
	modules := filepath.Join(dir, "node_modules")
	var all []*program
	codex, _ := filepath.Glob(filepath.Join(modules, "@openai", "codex-*", "vendor", "*", "bin", "codex"))
	if len(codex) == 1 {
		rules := filepath.Join(w.dir, "codex", "default.rules")
		if err := write(rules, codexRule); err != nil {
			return nil, err
		}
		all = append(all, &program{
			Name: "codex execpolicy check", want: `"decision":"allow"`,
			make: w.command(daemon, "", codex[0], "execpolicy", "check", "--rules", rules, "git", "log", "-n", argumentMarker),
		})
	} else {
		w.missing = append(w.missing, "codex execpolicy check (-npm installs it)")
	}
	node, err := exec.LookPath("node")
	if _, absent := os.Stat(filepath.Join(modules, "@google", "gemini-cli-core")); err != nil || absent != nil {
		w.missing = append(w.missing, "the policy engine of Gemini CLI (-npm installs it; it needs node)")
		return all, nil
	}
	script := filepath.Join(w.dir, "gemini.mjs")
	if err := write(script, geminiScript); err != nil {
		return nil, err
	}
	return append(all, &program{
		Name: "Gemini CLI's policy engine", want: "allow",
		make: w.command(daemon, "", node, script, modules, "git log -n "+argumentMarker),
	}), nil
}

// runPrograms runs each program once in a round.
func runPrograms(ctx context.Context, all []*program, rounds int) error {
	for i := range rounds + 1 {
		for _, p := range all {
			if err := p.run(ctx, firstNumber+i); err != nil {
				return err
			}
			if i == 0 {
				p.took, p.cpu = nil, nil // it was read from the disk
			}
		}
	}
	for _, p := range all {
		p.finish()
	}
	return nil
}
