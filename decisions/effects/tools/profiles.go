package tools

import (
	"maps"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/plainshell"
)

// sourceAgent is the Use.Source of an agent's own tool that affects nothing outside of the
// conversation (a to-do list, a sub-agent whose calls ask for themselves, a web search).
// Only a profile sets it: a tool server that calls its source so is renamed.
const sourceAgent = effects.AgentSource

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
	agentStarters map[string]bool
	// narrow are modes, in lower case, in which a sub-agent has no more rights than by
	// default.
	narrow map[string]bool
	// known are the names of facts, folded, to find near misses.
	factNames map[string]bool
	names     []string // the same, not folded
	// standard are the tools of agents without a profile, by names that mean the same to nearly
	// all agents.
	standard map[string]*shape
	// shapes are those of permd, for the profiles of layers.
	shapes map[string]*shape
	// undeclarable is set if no client may declare tools.
	undeclarable bool
}

// profile is the description of one agent.
type profile struct {
	id       string
	versions versionRange
	tools    map[string]*shape
	byKind   map[string]string
	identity []string
	titles   []titleShape

	ofLayer  bool // it is not permd's, but of org or a person
	personal bool // it is a person's own, which org's rules do not see

	claimedName   bool // a name taken from the title is only a claim
	kindIsHint    bool
	titleIsCmd    bool
	shellPrefix   bool
	argv          bool // its commands may be lists of words
	onlyQuestions bool // all its requests are questions
	liveShell     bool
	freshShell    bool
	inputText     bool
	separator     string
	onceOption    string
	shells        plainshell.Shells // that may read its commands; 0 if not known

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
	declared bool            // by the client: no other member is taken, whatever its value
	needs    []role
	whole    bool // without a path the tool reads the whole working directory
	wraps    bool // the input names a server's tool and contains its arguments
	use      string
	question string
	mode     string
	enters   []string // the modes that a call of its tools enters
}

// listsAll reports whether the shape lists all members that its tools take, so that any other
// one may be essential. Tools that affect nothing outside of the conversation may take
// any, unless a list says what they take.
func (s *shape) listsAll() bool {
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
	roleArgv          // a list of words that no shell reads
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

// Agents returns the names of the agents that have a profile, in lower case and in order,
// without those that are several words.
func (p *Profiles) Agents() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.byName)), func(name string) bool { return strings.Contains(name, " ") })
}

// ShellTool returns the agent's tool that runs shell text, and the member of its input that
// holds the text; ok is false if no such tool is known. Of several it is the one that the
// agent calls execute, or else the first by name.
func (p *Profiles) ShellTool(a effects.Party) (tool, member string, ok bool) {
	of := p.of(a)
	names := append([]string{of.byKind["execute"]}, slices.Sorted(maps.Keys(of.tools))...)
	for _, name := range names {
		s := of.tools[name]
		if s == nil {
			continue
		}
		for _, m := range slices.Sorted(maps.Keys(s.members)) {
			if s.members[m] == roleCommand && slices.Contains(s.needs, roleCommand) {
				return name, m, true
			}
		}
	}
	return "", "", false
}

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
