//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/settings"
)

// agent is an agent that sends calls, with the shells that may read its texts.
type agent struct {
	name, tool string
	shells     []string
}

// agents are one whose shells are not known, and some whose shells are known.
var agents = []agent{
	{name: "goose", tool: "developer__shell", shells: []string{"bash", "dash", "zsh", "busybox"}},
	{name: "claude-code", tool: "Bash", shells: []string{"bash", "zsh"}},
	{name: "gemini-cli", tool: "run_shell_command", shells: []string{"bash"}},
}

// persons are the persons whose rules are tried: one whose Rego allows their own
// programs, another whose Rego allows them with unknown words too, one with
// ordinary lists, and one without rules.
var persons = []struct {
	name string
	user shipped.User
}{
	{"covers", shipped.User{List: files, Rego: trusting() + covering}},
	{"trusts", shipped.User{List: files, Rego: trusting()}},
	{"lists", shipped.User{List: "allow:\n  run: [\"a *\", \"b *\", \"c *\", \"d *\", \"say *\", \"no *\", \"rd *\", \"echo *\", \"cat *\", \"ls *\", \"git status *\"]\n"}},
	{"none", shipped.User{}},
	{"changes", shipped.User{List: files, Rego: changesOf()}},
}

const files = "allow:\n  read: [./**]\n  write: [./**]\n  delete: [./**]\n"

// covering also allows unknown words, so that more texts run.
const covering = `
allow contains {"reason": "words of mine", "covers": ["unknown"]} if {
	input.effect.kind == "unknown"
	startswith(input.effect.why, "an argument that is not known before it runs")
}

allow contains "variables of mine" if {
	input.effect.kind == "state"
	input.effect.why in {"sets the variable x", "sets the variable y", "sets the variable f", "sets the variable name"}
}
`

// changesOf returns rules that allow programs that change files, whose other
// effects decide, and new repositories.
func changesOf() string {
	return runsOf("a program that changes files", changing) + "allow contains \"a new repository\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"git\"\n\tinput.effect.subcommand == \"init\"\n}\n"
}

// trusting allows the ordinary stubs with any words and any input.
func trusting() string { return runsOf("a program of mine", ordinary) }

func runsOf(reason string, programs []string) string {
	var names []string
	for _, name := range programs {
		names = append(names, fmt.Sprintf("%q", name))
	}
	return "package permd.user\n\nimport rego.v2\n\nallow contains \"" + reason + "\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program in {" +
		strings.Join(names, ", ") + "}\n}\n"
}

// judge decides texts as the daemon would. It is not safe for concurrent use.
type judge struct {
	snaps   []decisions.Snapshot  // by person
	engines [][]*decisions.Engine // by person and tree
	worlds  [][]tools.World       // by person and tree
}

// newJudge makes the engines.
func newJudge(ctx context.Context, rules *shipped.Rules) (*judge, error) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	j := &judge{}
	for _, p := range persons {
		snap, err := rules.With(ctx, p.user)
		if err != nil {
			return nil, err
		}
		var engines []*decisions.Engine
		var worlds []tools.World
		for i := range trees {
			e := shipped.Engine(snap, trees[i].fake(), ownFiles(), 1, now, nil)
			engines = append(engines, e)
			worlds = append(worlds, e.World(snap))
		}
		j.snaps, j.engines, j.worlds = append(j.snaps, snap), append(j.engines, engines), append(j.worlds, worlds)
	}
	return j, nil
}

// openRules loads the shipped rules.
func openRules() (*shipped.Rules, error) {
	return shipped.Open(settings.ProfileBalanced, uid, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
}

// trial is a text with the agent that sends it, the rules that decide it, and the
// tree that it runs in.
type trial struct {
	text   string
	family string
	agent  *agent
	person int // index in persons
	tree   int // index in trees
	strace bool
}

// verdict is a decision with the effects and context that it was made from.
type verdict struct {
	allowed bool
	by      string
	effects []effects.Effect
	tree    int // that it was made for
}

// decide decides a text.
func (j *judge) decide(ctx context.Context, t *trial) verdict {
	input, err := json.Marshal(map[string]string{"command": t.text})
	if err != nil {
		return verdict{}
	}
	call := effects.Call{
		ID: "call", Protocol: "permd", Tool: effects.Tool{Name: t.agent.tool}, Agent: effects.Party{Name: t.agent.name},
		Input: input, Cwd: project, User: person(),
	}
	d := j.engines[t.person][t.tree].Decide(ctx, &decisions.Request{
		Peer: decisions.Peer{UID: uid, PID: 7}, Call: call, Session: decisions.SessionRef{ID: "session", Conn: 1},
	})[0]
	v := verdict{tree: t.tree, allowed: d.Verdict == decisions.Allow, by: string(d.By) + ": " + d.Reason}
	if d.By != decisions.ByFailure {
		v.effects = j.worlds[t.person][t.tree].Effects(&call).Effects
	}
	return v
}

// shown returns the effects, one a line.
func (v *verdict) shown() []string {
	var lines []string
	for i := range v.effects {
		e := &v.effects[i]
		line := string(e.Kind) + " " + e.Text
		if r := e.Run; r != nil {
			line += fmt.Sprintf(" (program %q args %q stdin %s %q cwd %q)", r.Program, r.Args, r.Stdin, r.StdinText, r.Cwd)
		}
		if e.Why != "" {
			line += " " + e.Why
		}
		lines = append(lines, line)
	}
	return slices.Compact(lines)
}

// why returns a short reason why a text is not allowed.
func (v *verdict) why() string {
	for i := range v.effects {
		e := &v.effects[i]
		if e.Kind == effects.KindUnknown {
			why, _, _ := strings.Cut(e.Why, ":")
			return "unknown: " + why
		}
	}
	return v.by
}

// plain reports whether all shells of the call read the text the same way.
func (t *trial) plain() bool {
	var shells plainshell.Shells
	for _, name := range t.agent.shells {
		shells |= map[string]plainshell.Shells{"bash": plainshell.Bash, "zsh": plainshell.Zsh, "dash": plainshell.Sh, "busybox": plainshell.Sh}[name]
	}
	_, refusal := plainshell.Read(t.text, shells)
	return refusal == nil
}
