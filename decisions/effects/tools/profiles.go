package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/runs"
)

// sourceAgent is the Use.Source of an agent's own tool that affects nothing outside of the
// conversation (a to-do list, a sub-agent whose calls ask for themselves, a web search).
// Only a profile sets it: a tool server that calls its source so is renamed.
const sourceAgent = "agent"

// maxProfiles bounds the profiles' data, in bytes.
const maxProfiles = 1 << 20

// Profiles are the agents' own tools: which names are local built-ins, and the roles of
// their inputs' members. Immutable.
//
// A profile is selected by the agent's name for itself, so an agent can choose its
// profile. It gains nothing by that which it could not gain by a false input: a profile
// only determines how a call is read, and tools of servers are Use effects under every
// profile.
type Profiles struct {
	agents  []*profile
	byName  map[string][]*profile // lower case
	generic *shape
	// harmless are members that do not affect what a call does.
	harmless map[string]bool
	// starts are names of tools that start a sub-agent.
	starts map[string]bool
	// narrow are modes, in lower case, in which a sub-agent has no more rights than by
	// default.
	narrow map[string]bool
	// known are the names of facts, folded, to find near misses.
	known map[string]bool
	names []string // the same, not folded
}

// profile is the description of one agent.
type profile struct {
	id       string
	versions versionRange
	tools    map[string]*shape
	byKind   map[string]string
	identity []string
	titles   []titleShape

	claimedName bool // a name taken from the title is only a claim
	kindIsHint  bool
	titleIsCmd  bool
	shellPrefix bool
	argv        bool // its commands may be lists of words
	asks        bool // all its requests are questions
	liveShell   bool
	freshShell  bool
	inputText   bool
	separator   string
	onceOption  string
	shells      plainshell.Shells // that may read its commands; 0 if not known

	claimTitle, claimLocations, claimDiffs bool

	metaName, metaServer, metaInput []string
	questionMeta                    []string
	cwdText                         []string
}

// titleShape reads requests whose only fact is the rest of a fixed title.
type titleShape struct {
	prefix string
	shape  *shape
	mode   string
}

// shape describes a tool by the roles of its input's members.
type shape struct {
	name     string
	members  map[string]role
	harmless map[string]bool // members of its tools that do not affect what they do
	own      bool            // it is one agent's shell: no other member is harmless
	needs    []role
	whole    bool // without a path the tool reads the whole working directory
	wraps    bool // the input names a server's tool and contains its arguments
	use      string
	question string
	mode     string
}

// closed reports whether the shape lists all members that its tools take, so that any other
// one may be essential. Tools that affect nothing outside of the conversation may take
// any, unless a list says what they take.
func (s *shape) closed() bool {
	return s.name != "generic" && (s.use+s.question+s.mode == "" || len(s.harmless) > 0)
}

// takes reports whether the shape has a member of the role.
func (s *shape) takes(r role) bool {
	for _, m := range s.members {
		if m == r {
			return true
		}
	}
	return false
}

// role is the meaning of a member of an input.
type role uint8

const (
	roleNone     role = iota
	roleIgnore        // nothing, although the name means something elsewhere
	roleCommand       // shell text, or an argv array
	roleCommands      // a list of those
	roleDerived       // commands that repeat or split another member
	roleCwd           // the folder that commands run in
	roleShell         // the program that reads the shell text
	roleTyped         // if true, the command is typed at a running program
	roleFeed          // text that is typed at a running program
	roleCode          // code of a language that is not parsed
	roleVerb          // what to do with the path
	roleRead
	roleTree // a folder that is read recursively
	roleGlob
	roleWrite
	roleDelete
	roleTouch // read or written
	roleFrom  // moved away
	roleConnect
	roleHost // {host, protocol}
	roleText // free text that contains addresses
	rolePatch
	roleChanges
	roleItems  // objects with members of the same shape
	roleFilter // a pattern that narrows a recursive read
	roleGrant  // wider permissions
)

// ParseProfiles reads the agent profiles' data: one YAML document of at most
// 1 MiB, in which an unknown key, a tool of an unknown shape or a name that
// occurs twice is an error.
func ParseProfiles(data []byte) (*Profiles, error) {
	if len(data) > maxProfiles {
		return nil, fmt.Errorf("reading agent profiles: longer than %d bytes", maxProfiles)
	}
	var d profilesData
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&d); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("no document")
		}
		return nil, fmt.Errorf("reading agent profiles: %w", err)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading agent profiles: more than one document")
	}
	if d.Version != 1 {
		return nil, fmt.Errorf("reading agent profiles: version %d is not known", d.Version)
	}
	p, err := d.compile()
	if err != nil {
		return nil, fmt.Errorf("reading agent profiles: %w", err)
	}
	return p, nil
}

func (d *profilesData) compile() (*Profiles, error) {
	p := &Profiles{byName: map[string][]*profile{}, harmless: map[string]bool{}, starts: map[string]bool{}, narrow: map[string]bool{}, known: map[string]bool{}}
	var err error
	if p.generic, err = d.Generic.compile("generic"); err != nil {
		return nil, err
	}
	if !p.generic.takes(roleCommand) || !p.generic.takes(roleTouch) {
		return nil, errors.New("generic names no command or no path")
	}
	for _, name := range d.Generic.Harmless {
		p.harmless[name] = true
	}
	for _, name := range d.Generic.Starts {
		p.starts[name] = true
	}
	for _, mode := range d.Generic.Narrow {
		p.narrow[strings.ToLower(mode)] = true
	}
	shapes := map[string]*shape{}
	for name, sd := range d.Shapes {
		if len(sd.Starts)+len(sd.Narrow) > 0 {
			return nil, fmt.Errorf("shape %s: starts and narrow belong to generic", name)
		}
		if shapes[name], err = sd.compile(name); err != nil {
			return nil, err
		}
	}
	for i := range d.Agents {
		a, err := d.Agents[i].compile(shapes)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", d.Agents[i].ID, err)
		}
		p.agents = append(p.agents, a)
		for _, name := range d.Agents[i].Names {
			key := strings.ToLower(name)
			p.byName[key] = append(p.byName[key], a)
		}
	}
	p.addNames(p.generic)
	for _, s := range shapes {
		p.addNames(s)
	}
	slices.Sort(p.names)
	p.names = slices.Compact(p.names)
	return p, nil
}

// addNames adds a shape's names of facts to those for near misses.
// against.
func (p *Profiles) addNames(s *shape) {
	for name, r := range s.members {
		if r != roleIgnore {
			p.names = append(p.names, name)
			p.known[strings.ToLower(name)] = true
		}
	}
}

func (d *shapeData) compile(name string) (*shape, error) {
	s := &shape{name: name, members: map[string]role{}, harmless: map[string]bool{}, whole: d.Whole, wraps: d.Wraps, use: d.Use, question: d.Question, mode: d.Mode}
	words := map[string]role{}
	for _, nr := range d.roles() {
		words[nr.name] = nr.role
		for _, m := range nr.members {
			if m == "" || s.members[m] != roleNone {
				return nil, fmt.Errorf("shape %s: member %q is empty or stands twice", name, m)
			}
			s.members[m] = nr.role
		}
	}
	for _, m := range d.Harmless {
		if m == "" || s.members[m] != roleNone || s.harmless[m] {
			return nil, fmt.Errorf("shape %s: member %q is empty or stands twice", name, m)
		}
		s.harmless[m] = true
	}
	for _, n := range d.Needs {
		r := words[n]
		if r == roleNone || !s.takes(r) {
			return nil, fmt.Errorf("shape %s: needs %q, which it does not take", name, n)
		}
		s.needs = append(s.needs, r)
	}
	if s.use != "" && s.use != "agent" && s.use != "plain" {
		return nil, fmt.Errorf("shape %s: use is %q, want agent or plain", name, s.use)
	}
	// A shape that requires no member must have an effect of its own: otherwise a call with
	// any input would have none.
	if name != "generic" && len(s.needs) == 0 && !s.whole && !s.wraps && s.use == "" && s.question == "" && s.mode == "" {
		return nil, fmt.Errorf("shape %s: has no effect of its own and needs nothing", name)
	}
	return s, nil
}

// acpKinds are the tool kinds of the Agent Client Protocol.
var acpKinds = []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}

func (d *agentData) compile(shapes map[string]*shape) (*profile, error) {
	p := &profile{
		id: d.ID, tools: map[string]*shape{}, byKind: d.ByKind, identity: d.Identity,
		claimedName: d.ClaimedName, kindIsHint: d.Kind == "hint", titleIsCmd: d.Title == "command",
		shellPrefix: d.ShellPrefix, argv: d.Argv, asks: d.Asks, liveShell: d.LiveShell, freshShell: d.FreshShell, inputText: d.InputText, separator: d.Separator,
		metaName: d.MetaName, metaServer: d.MetaServer, metaInput: d.MetaInput,
		onceOption: d.OnceOption, questionMeta: d.QuestionMeta, cwdText: d.CwdText,
	}
	if d.ID == "" || len(d.Names) == 0 || slices.Contains(d.Names, "") {
		return nil, errors.New("has no id or no name")
	}
	var err error
	if p.versions, err = parseVersionRange(d.Versions); err != nil {
		return nil, err
	}
	for shapeName, names := range d.Tools {
		s := shapes[shapeName]
		if s == nil {
			return nil, fmt.Errorf("shape %q is not known", shapeName)
		}
		if s.shell() {
			if s, err = s.besides(d.Beside); err != nil {
				return nil, fmt.Errorf("shape %q: %w", shapeName, err)
			}
		}
		for _, n := range names {
			if n == "" || p.tools[n] != nil {
				return nil, fmt.Errorf("tool %q is empty or stands twice", n)
			}
			if _, _, remote := serverTool(n); remote {
				return nil, fmt.Errorf("tool %q has the name of a server's tool", n)
			}
			p.tools[n] = s
		}
	}
	for kind, tool := range d.ByKind {
		if !slices.Contains(acpKinds, kind) || p.tools[tool] == nil {
			return nil, fmt.Errorf("byKind %s: %s is no kind or %s no tool", kind, kind, tool)
		}
	}
	for _, how := range d.Identity {
		if !slices.Contains([]string{"meta", "kind", "idPrefix", "title", "titlePrefix"}, how) {
			return nil, fmt.Errorf("identity %q is not known", how)
		}
	}
	for _, name := range d.Shells {
		shell := runs.ShellNamed(name)
		if shell == runs.NoShell || name != "bash" && name != "sh" && name != "zsh" || p.shells&shell != 0 {
			return nil, fmt.Errorf("shell %q is none of bash, sh and zsh, or stands twice", name)
		}
		p.shells |= shell
	}
	if d.Interactive {
		if p.shells == 0 {
			return nil, errors.New("its interactive shell has no name")
		}
		p.shells |= plainshell.Interactive
	}
	if d.LiveShell && d.FreshShell {
		return nil, errors.New("its shell cannot both stay alive and be made anew")
	}
	if (d.Kind != "" && !p.kindIsHint) || (d.Title != "" && !p.titleIsCmd) {
		return nil, errors.New("kind is not hint, or title not command")
	}
	for _, c := range d.Claimed {
		switch c {
		case "title":
			p.claimTitle = true
		case "locations":
			p.claimLocations = true
		case "diffs":
			p.claimDiffs = true
		default:
			return nil, fmt.Errorf("claimed %q is not known", c)
		}
	}
	for _, t := range d.Titles {
		if t.Prefix == "" || shapes[t.Shape] == nil {
			return nil, fmt.Errorf("title %q has no prefix or no known shape", t.Prefix)
		}
		p.titles = append(p.titles, titleShape{prefix: t.Prefix, shape: shapes[t.Shape], mode: t.Mode})
	}
	return p, nil
}

// unknownAgent is the profile of an agent without a profile.
var unknownAgent = &profile{id: "generic"}

// of returns the profile of an agent: the first of its name whose versions include the
// agent's.
func (p *Profiles) of(a effects.Party) *profile {
	if p == nil || a.Name == "" {
		return unknownAgent
	}
	for _, c := range p.byName[strings.ToLower(a.Name)] {
		if c.versions.Holds(a.Version) {
			return c
		}
	}
	return unknownAgent
}

// LiveShell reports whether the agent's shell persists between calls, so that a state
// effect of one call changes the meaning of a later one.
func (p *Profiles) LiveShell(a effects.Party) bool { return p.of(a).liveShell }

// followsFolder reports whether a call may leave the agent's shell in another folder without
// asking: later calls of a persistent shell are judged in each folder that it may be in
// (Call.Folders), and a shell that is started for each call loses its folder.
func (p *profile) followsFolder() bool { return p.liveShell || p.freshShell }

// OnceOption returns the id of the option that allows only the call at hand, for agents that
// offer several such options of which some allow more; "" if none is known.
func (p *Profiles) OnceOption(a effects.Party) string { return p.of(a).onceOption }

// Own reports whether a name is that of a known agent's own tool: its calls become what they
// do (a run, a read), and are no use.
func (p *Profiles) Own(tool string) bool {
	own := false
	for _, agent := range p.agents {
		if s := agent.tools[tool]; s != nil {
			if s.use != "" || s.wraps {
				return false // it is a use for this agent
			}
			own = own || s.question == "" && s.mode == "" && len(s.members) > 0
		}
	}
	return own
}
