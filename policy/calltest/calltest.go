// Package calltest decides the calls of *_test.yaml files, the tests of rules that are
// written as calls, by one layer of rules over the shipped base layer. What the calls are
// decided by is the same on each machine: a file system in memory, one person and one
// project, no memory, and a fixed time.
package calltest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/evaltime"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/source"
)

// The world of the calls.
const (
	person  = "person"
	uid     = 1000
	home    = "/home/" + person
	project = home + "/project"
	agent   = "claude-agent-acp"
)

// now is a Monday morning.
var now = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

// callTimeout is how long a call may take. A busy machine must not make rules fail.
const callTimeout = 30 * time.Second

// attempts is how often a call is decided whose rules took too long.
const attempts = 3

// Rules are what the calls of a layer are decided by.
type Rules struct {
	Layer    *rules.Layer
	Base     *rules.Layer    // nil if Layer is the base layer itself
	Table    *programs.Table // the shipped programs with those that the layer describes
	Profiles *tools.Profiles
}

// Run decides the calls of all such files among files, in order. The problems are files
// that cannot be read; calls that are decided otherwise are in the results.
func Run(ctx context.Context, r Rules, files []source.File) ([]rules.TestResult, diag.List) {
	var results []rules.TestResult
	var ps diag.List
	for _, f := range files {
		if !f.IsCalls() {
			continue
		}
		calls, err := list.ParseCalls(f.Name, f.Data)
		if err != nil {
			rules.AddListProblems(f, err, &ps)
			continue
		}
		w, err := r.world(calls.Files)
		if err != nil {
			ps.FileErrorf(f.Name, "", "%v", err)
			continue
		}
		for i := range calls.Cases {
			results = append(results, w.result(ctx, f.Name, &calls.Cases[i]))
		}
	}
	return results, ps
}

// world decides the calls of one file.
type world struct {
	rules  Rules
	engine *decisions.Engine
	fs     *fsfake.FS
}

func (r Rules) world(files []list.CallFile) (*world, error) {
	w := &world{rules: r, fs: fsfake.New(project+"/.git/", "/tmp/", "/usr/bin/", "/bin/", "/etc/")}
	for _, f := range files {
		at, err := absolute(f.Path, project)
		switch {
		case err != nil:
			return nil, err
		case at == "/" || at == project:
			return nil, fmt.Errorf("%s is a folder that is always there", f.Path)
		case strings.HasSuffix(f.Path, "/"):
			w.fs.Dir(at)
		default:
			w.fs.File(at, f.Text)
		}
	}
	basis := rules.Basis{Table: r.Table, Profiles: r.Profiles, Limiter: new(evaltime.Limiter)}
	for _, l := range []*rules.Layer{r.Layer, r.Base} {
		if l != nil && l.NumRules() > 0 {
			basis.Layers = append(basis.Layers, l)
		}
	}
	var err error
	w.engine, err = decisions.NewEngine(decisions.Config{
		Policy: fixed{rules.NewSnapshot(basis)}, Memory: nothing{}, Journal: nothing{}, FS: w.fs,
		Own: paths.OwnFiles(home + "/.config/permd"), Deadline: callTimeout,
		Now: func() time.Time { return now }, NewID: func() string { return "test" }, Log: slog.New(slog.DiscardHandler),
	})
	return w, err
}

// absolute returns a path of the file as an absolute one.
func absolute(name, dir string) (string, error) {
	switch {
	case strings.ContainsRune(name, 0):
		return "", errors.New("a path holds a zero byte")
	case name == "~":
		return home, nil
	case strings.HasPrefix(name, "~/"):
		return path.Join(home, name[2:]), nil
	case strings.HasPrefix(name, "/"):
		return path.Clean(name), nil
	}
	return path.Join(dir, name), nil
}

// result decides one call and compares the verdict.
func (w *world) result(ctx context.Context, file string, c *list.CallCase) rules.TestResult {
	begun := time.Now()
	out := rules.TestResult{
		File: file, Line: c.Line, Package: "permd." + string(w.rules.Layer.Name), Name: string(c.Want) + " " + oneLine(c.Text()), Outcome: rules.Pass,
	}
	call, err := w.call(c)
	if err != nil {
		out.Outcome, out.Text = rules.Broken, err.Error()
		return out
	}
	var d *decisions.Decision
	for range attempts {
		d = w.engine.Decide(ctx, &decisions.Request{
			Call: *call, Peer: decisions.Peer{UID: uid}, Session: decisions.SessionRef{ID: "test", Mode: "default"},
		})[0]
		if d.By != decisions.ByFailure || ctx.Err() != nil {
			break
		}
	}
	out.DurationNS = time.Since(begun).Nanoseconds()
	switch {
	case ctx.Err() != nil:
		out.Outcome, out.Text = rules.Broken, "the tests took too long"
	case d.By == decisions.ByFailure:
		out.Outcome, out.Text = rules.Broken, d.Reason
	case d.Verdict != c.Want:
		out.Outcome, out.Text = rules.Fail, "the verdict is "+string(d.Verdict)+": "+oneLine(d.Reason)+because(d)
	}
	return out
}

// because names the effect that gave the verdict, and its rule.
func because(d *decisions.Decision) string {
	for _, e := range d.Effects {
		if e.Verdict != d.Verdict {
			continue
		}
		if len(e.Rules) > 0 {
			return fmt.Sprintf(" (%s, by %s)", oneLine(e.Text), e.Rules[0].At)
		}
		return fmt.Sprintf(" (%s)", oneLine(e.Text))
	}
	return ""
}

// oneLine shortens a text for a line of a report.
func oneLine(text string) string {
	const most = 120
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// call makes the call of a case.
func (w *world) call(c *list.CallCase) (*effects.Call, error) {
	name, version, _ := strings.Cut(cmp.Or(c.Agent, agent), "@")
	who := effects.Party{Name: name, Version: version}
	cwd, err := absolute(cmp.Or(c.Cwd, "."), project)
	if err != nil {
		return nil, err
	}
	if _, err := w.fs.Lstat(cwd); err != nil {
		w.fs.Dir(cwd)
	}
	tool, input := effects.Tool{Name: c.Tool}, c.Input
	switch {
	case c.Run != "":
		shell, member, ok := w.rules.Profiles.ShellTool(who)
		if !ok {
			return nil, fmt.Errorf("the agent %s is not known to run shell text; write tool and input", name)
		}
		tool.Name, input = shell, map[string]any{member: c.Run}
	case c.Use != "":
		tool.Server, tool.Name, _ = strings.Cut(c.Use, ":")
	case c.Tool == "" && c.Agent != "":
		return nil, errors.New("with an agent, read, write and fetch are written as tool and input")
	case c.Read != "", c.Write != "":
		at, err := absolute(c.Read+c.Write, cwd)
		if err != nil {
			return nil, err
		}
		tool.Name, input = "Read", map[string]any{"file_path": at}
		if c.Write != "" {
			tool.Name, input = "Write", map[string]any{"file_path": at, "content": ""}
		}
	case c.Fetch != "":
		tool.Name, input = "WebFetch", map[string]any{"url": c.Fetch, "prompt": ""}
	}
	if input == nil {
		input = map[string]any{}
	}
	raw, err := json.Marshal(input, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("writing the tool's input as JSON: %w", err)
	}
	return &effects.Call{
		ID: "test", Protocol: "permd", Tool: tool, Input: raw, Cwd: cwd, Agent: who,
		Client: effects.Party{Name: "permd policy test"},
		User:   effects.User{UID: uid, Name: person, Home: home, Groups: []string{person}, Env: map[string]string{"HOME": home}},
	}, nil
}

// fixed is a policy with the same rules for everybody.
type fixed struct{ rules *rules.Snapshot }

// Snapshot returns the rules.
func (f fixed) Snapshot(uint32, string) (decisions.Snapshot, error) { return f.rules, nil }

// nothing is a memory without choices and a journal that stores nothing.
type nothing struct{}

// Match returns no match.
func (nothing) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

// Append discards the records.
func (nothing) Append(context.Context, ...*decisions.Record) error { return nil }
