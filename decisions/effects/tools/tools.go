package tools

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/runs"
	"github.com/permd/permd/decisions/effects/shell"
	"github.com/permd/permd/internal/strictjson"
)

// Bounds of one call. A call that exceeds them is not understood.
const (
	maxToolPaths    = 256
	maxToolCommands = 64
)

// tool reads one tool call. It determines whose tool it is (identify), the roles of the
// input's members (facts) and their effects (apply), and compares these with the agent's
// claims about the call (contradict).
type tool struct {
	*runs.Builder
	all *Profiles
	p   *profile
	id  identity
	// machine is World.Machine.
	machine func() *paths.Machine
	current *paths.Machine // World.Known

	// input is the tool's input if it is an object, in its own order.
	input strictjson.Object
	// have is the type of the input.
	have inputState
	from string // the member that the input was read from
	// adapterInput is what the adapter passed on outside of the input: the same members or
	// more.
	adapterInput strictjson.Object
	adapterFrom  string

	cwd string // of this tool; "" when not known
	// use is the index of the call's Use effect, -1 if it has none.
	use int
	// claimed is set while effects are based on the agent's claims only.
	claimed bool
	// isForeign is set if the call may be of a foreign tool.
	isForeign bool
	// guessed is set if the call's verbs are only guessed.
	guessed bool
	// unnamed bounds the effects of a command without a tool name, if it is only a claim.
	unnamedClaim bool
	unnamed      [2]int
	// asText bounds the effects of lists of words as shell text.
	asText [][2]int
	// otherAsText is set if a list of words would be another command as shell text.
	otherAsText bool
	missing     string
	hints       []effects.Effect // see Result.Hints
	enters      []string         // see Result.Enters

	claimedPaths []effects.ClaimedPath // see Result.Claimed

	paths, commands int
	objects         int    // in the arguments of a foreign tool
	text            string // the last shell text, for the title of a call with one
	shellTexts      int
	counted         bool // a bound was reported
	tooDeep         bool // that of the depth was
}

type inputState uint8

const (
	inputAbsent inputState = iota
	inputObject
	inputOther // text, a list, a number
)

func (w *World) of(c *effects.Call, res *paths.Resolver) effects.Result {
	harness := w.Profiles.of(c.Harness())
	r := w.by(harness, c, res)
	if harness.personal {
		// By a resolver of its own: what this call disturbs is not disturbed before it begins.
		without := w.by(unknownAgent, c, paths.NewResolver(w.environment(), c))
		r.Unprofiled = slices.Concat(without.Effects, without.Rest)
		r.Enters = append(r.Enters, without.Enters...)
	}
	if c.Announced != nil {
		list, enters := w.announced(harness, c)
		r.Rest, r.Enters = append(r.Rest, list...), append(r.Enters, enters...)
	}
	return r
}

// by reads a call by the profile of its harness.
func (w *World) by(harness *profile, c *effects.Call, res *paths.Resolver) effects.Result {
	t := &tool{
		Builder: shell.NewBuilder(w.environment(), w.Table, c, res),
		all:     w.Profiles, p: unknownAgent, use: -1, cwd: c.Cwd, from: "rawInput", machine: w.Machine, current: w.Known,
	}
	if t.all == nil {
		t.all = &Profiles{generic: &shape{name: "generic"}}
	}
	t.Defects = append(t.Defects, c.Defects...)
	if c.InputFrom != "" {
		t.from = c.InputFrom
	}
	t.KeepsFolder = harness.followsFolder()
	if local(c) {
		t.p, t.Shells = harness, harness.shells
	}
	t.marks()
	t.readInput()
	t.identify()
	t.dispatch()
	t.replyTo()
	t.subject()
	t.switchMode()
	t.contradict()
	t.claimUnnamed()
	t.hint()
	t.claimPaths()
	w.lookAround(t)
	t.AskForUncertainSearches()
	t.standFor()
	return t.result()
}

// subject handles a command that is the subject of a request (ACP v2). It runs whatever tool
// the request shows: one that takes no command must not hide it.
func (t *tool) subject() {
	if t.Call.InputFrom != "subject" || t.shellTexts > 0 {
		return
	}
	t.defect(effects.DefectContradiction, "subject.command", "the request is to run a command, and names a tool that runs none")
	o, err := strictjson.ParseObject(t.Call.Input)
	if err != nil {
		return
	}
	v, _ := o.Get("command")
	text, ok := strictjson.ParseString(v)
	if !ok {
		return
	}
	cwd := t.cwd
	if v, ok := o.Get("cwd"); ok {
		if dir, ok := strictjson.ParseString(v); ok && dir != "" {
			cwd = dir
		}
	}
	t.command(text, cwd, "subject.command")
}

// localProtocol reports whether the clients of a protocol are agents that run their own
// tools on this machine. Calls over all other protocols are of tools elsewhere.
func localProtocol(protocol string) bool {
	return protocol == "acp" || protocol == "permd" || protocol == "hook" || strings.HasPrefix(protocol, "hook:")
}

// marks adds the kind of request that the adapter recognised.
func (t *tool) marks() {
	for _, m := range t.Call.Marks {
		if m.Kind == effects.KindQuestion || m.Kind == effects.KindMode {
			t.Add(effects.Effect{Kind: m.Kind, From: m.From, Why: m.Why, Text: display.Display(m.Why)})
		}
	}
	if t.p.onlyQuestions && !t.has(effects.KindQuestion) {
		why := "this agent asks for no permissions, only for answers"
		t.Add(effects.Effect{Kind: effects.KindQuestion, From: "agent", Why: why, Text: why})
	}
	for _, name := range t.p.questionMeta {
		if v, ok := metaAt(t.Call.Claims.Meta, name); ok && strictjson.Kind(v) != 'n' {
			t.Add(effects.Effect{Kind: effects.KindQuestion, From: "_meta." + name, Why: "the agent asks the person", Text: "the agent asks the person"})
		}
	}
}

// switchMode adds the mode effect of a call whose kind is a mode switch. The kind is only a
// claim, but this claim can only make the decision stricter.
func (t *tool) switchMode() {
	if t.Call.Claims.Kind == "switch_mode" && !t.has(effects.KindMode) {
		why := "the agent's permission mode would change"
		t.Add(effects.Effect{Kind: effects.KindMode, From: "kind", Why: why, Text: why})
	}
}

// has reports whether an effect of the kind was found.
func (t *tool) has(k effects.Kind) bool {
	for i := range t.Effects {
		if t.Effects[i].Kind == k {
			return true
		}
	}
	return false
}

// readInput parses the input.
func (t *tool) readInput() {
	in := t.Call.Input
	t.readAdapterInput()
	if k := strictjson.Kind(in); (k == 'n' || k == 0) && t.hasFacts(t.adapterInput) {
		t.have, t.input, t.from, t.adapterInput = inputObject, t.adapterInput, t.adapterFrom, nil
		return
	}
	if text, ok := strictjson.ParseString(in); ok && t.p.inputText && strictjson.Check([]byte(text)) == nil {
		in = strictjson.Value(text)
	}
	switch strictjson.Kind(in) {
	case 0, 'n':
		return
	case '{':
		o, err := strictjson.ParseObject(in)
		if err != nil {
			t.have = inputOther
			return
		}
		t.have, t.input = inputObject, o
	default:
		t.have = inputOther
	}
}

// readAdapterInput parses what an adapter passes on outside of the input.
func (t *tool) readAdapterInput() {
	v, ok := metaAt(t.Call.Claims.Meta, t.p.metaInput...)
	if !ok || strictjson.Kind(v) != '{' {
		return
	}
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return
	}
	t.adapterInput, t.adapterFrom = o, "_meta"
	for _, name := range t.p.metaInput {
		t.adapterFrom = memberOf(t.adapterFrom, name)
	}
}

// hasFacts reports whether a member of the object is a fact of the agent's tools, and not
// only about the request.
func (t *tool) hasFacts(o strictjson.Object) bool {
	for _, m := range o {
		if strictjson.Kind(m.Value) == 'n' {
			continue
		}
		for _, s := range t.p.tools {
			if slices.Contains([]role{roleCommand, roleChanges, roleHost, roleConnect}, s.members[m.Name]) {
				return true
			}
		}
	}
	return false
}

// roleOf returns the role of a member in the input of any tool.
func (p *Profiles) roleOf(name string) role {
	return p.generic.members[name]
}

// dispatch adds the effects, depending on whose tool it is.
func (t *tool) dispatch() {
	switch {
	case t.id.remote || t.id.name != "" && t.id.shape == nil:
		t.isForeign = true
		t.foreign()
	case t.id.shape != nil:
		t.own()
	default:
		t.unnamedTool()
	}
}

// useEffect adds the use of the call's tool.
func (t *tool) useEffect(args strictjson.Value, source string) {
	text := t.id.name
	if t.id.server != "" {
		text = t.id.server + ":" + text
	}
	if t.Call.Tool.Version != "" {
		text += "@" + t.Call.Tool.Version
	}
	if t.Call.Tool.Destructive {
		text += ", which may destroy something"
	}
	if t.Call.Tool.Unlisted {
		text += ", which is not in the server's list"
	}
	given := t.Call.Credentials.Sorted()
	if !given.Empty() {
		text += ", given " + given.String()
	}
	if strictjson.Kind(args) == 'n' || len(args) == 0 {
		args = nil
	}
	t.use = t.Add(effects.Effect{
		Kind: effects.KindUse, From: t.id.from, Text: display.Display("use " + text), Claimed: t.id.claimed,
		Use: &effects.Use{
			Server: t.id.server, Source: source, Tool: t.id.name, Version: t.Call.Tool.Version, Destructive: t.Call.Tool.Destructive,
			Trusted: t.Call.Tool.Trusted, Arguments: args, Credentials: given, OnBehalfOf: t.Call.Claims.User,
		},
	})
	t.addAgentStart(t.id.name, args, t.from)
}

// own handles the call of a tool that the profile lists as the agent's own.
func (t *tool) own() {
	s := t.id.shape
	if s.wraps {
		if !t.wrappedTool() {
			t.useEffect(t.Call.Input, t.id.source)
			t.addMissing("the input names no tool of a server")
			return
		}
		t.isForeign = true
		t.foreign()
		return
	}
	before := len(t.Effects)
	t.claimed = t.id.claimed
	t.enters = append(t.enters, s.enters...)
	switch {
	case s.use != "":
		source := ""
		if s.use == "agent" {
			source = sourceAgent
		}
		t.useEffect(t.Call.Input, source)
		t.Effects[t.use].Use.Own = s.use != "server"
	case s.question != "":
		t.Add(effects.Effect{Kind: effects.KindQuestion, From: t.id.from, Why: s.question, Text: s.question})
	case s.mode != "":
		t.Add(effects.Effect{Kind: effects.KindMode, From: t.id.from, Why: s.mode, Text: s.mode})
	}
	if t.id.mode != "" {
		t.Add(effects.Effect{Kind: effects.KindMode, From: "title", Why: t.id.mode, Text: t.id.mode})
	}
	switch t.have {
	case inputObject:
		t.apply(s, t.input, t.from)
		if s.declared && !s.changes() && t.holdsContent() {
			t.defect(effects.DefectContradiction, t.from, "the tool is declared to change nothing, the input holds new content")
		}
		t.applyAdapterInput(s)
	case inputOther:
		if s.question == "" && s.mode == "" {
			t.malformed(t.from, "the input is "+strictjson.KindName(strictjson.Kind(t.Call.Input))+", not an object")
		}
	case inputAbsent:
		if len(s.needs) > 0 || s.whole {
			t.fromClaims(s)
		}
		t.applyAdapterInput(s)
	}
	t.markClaimed(before)
}

// applyAdapterInput adds the hosts and permissions that are only outside of the input, and
// compares the command there.
func (t *tool) applyAdapterInput(s *shape) {
	for _, f := range t.facts(s, t.adapterInput, t.adapterFrom) {
		// All other roles repeat the input here.
		//exhaustive:ignore
		switch f.role {
		case roleHost:
			t.host(f)
		case roleGrant:
			t.grant(f)
		case roleCommand:
			text, ok := strictjson.ParseString(f.val)
			if !ok || t.shellTexts != 1 || text == t.text {
				continue
			}
			if args, ok := plainWords(text); ok {
				if inner, ok := unwrapShell(args); ok && inner == t.text {
					continue
				}
			}
			t.defect(effects.DefectContradiction, f.from, "another command stands beside the input")
		}
	}
}

// local reports whether the call may be of a tool that its harness runs on this machine.
func local(c *effects.Call) bool {
	return localProtocol(c.Protocol) || c.Protocol == effects.ProtocolAAP && c.Tool.Server == ""
}
