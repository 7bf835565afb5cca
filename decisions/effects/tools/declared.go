package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/shell"
	"github.com/permd/permd/internal/strictjson"
)

// Bounds of what a client declares.
const (
	maxDeclaredTools   = 64
	maxDeclaredMembers = 32         // of a tool
	maxDeclaredName    = 128        // bytes, of a tool or member
	maxDeclaredBytes   = 32 << 10   // of all names
	declaredHarmless   = "harmless" // the meaning of a member without a role
)

// declarable are the meanings that a client may declare. What is left out of the roles of
// profiles makes a call do less than its input says (ignore, derived, verb), or has a form
// of one agent (changes, items, host).
var declarable = map[string]role{
	"command": roleCommand, "argv": roleArgv, "commands": roleCommands, "cwd": roleCwd, "shell": roleShell, "typed": roleTyped,
	"feed": roleFeed, "code": roleCode, "read": roleRead, "tree": roleTree, "glob": roleGlob, "filter": roleFilter, "write": roleWrite,
	"delete": roleDelete, "from": roleFrom, "connect": roleConnect, "text": roleText, "patch": rolePatch, "grant": roleGrant,
}

// effectRoles are the roles that make effects wherever they occur.
var effectRoles = []role{
	roleCommand, roleArgv, roleCommands, roleFeed, roleCode, roleRead, roleTree, roleGlob, roleWrite, roleDelete, roleFrom, roleConnect, roleText, rolePatch,
}

// refinements are the roles that a member may be declared with if its name has a role in
// the input of any tool. Code and typed text are never understood, so they are allowed for
// all but grants.
var refinements = []struct {
	usual    role
	declared []role
}{
	{roleCommand, []role{roleCommand, roleArgv, roleCommands}},
	{roleCommands, []role{roleCommand, roleArgv, roleCommands}},
	{roleCwd, []role{roleCwd, roleRead, roleTree, roleGlob, roleWrite, roleDelete, roleFrom}},
	{roleTouch, []role{roleCwd, roleRead, roleTree, roleGlob, roleWrite, roleDelete, roleFrom}},
	{roleFrom, []role{roleFrom, roleRead, roleTree, roleGlob}},
	{roleWrite, []role{roleWrite}},
	{roleConnect, []role{roleConnect}},
	{rolePatch, []role{rolePatch}},
	{roleGrant, []role{roleGrant}},
}

// Declarable returns an error if an agent's client may not declare these tools, in words
// that may be shown and logged: tools and members are named by their numbers.
func (p *Profiles) Declarable(agent effects.Party, declared []effects.DeclaredTool) error {
	switch {
	case p.undeclarable:
		return errors.New("the organisation's settings allow no declared tools")
	case p.byName[strings.ToLower(agent.Name)] != nil:
		return errors.New("this agent has a profile, which says what its tools are")
	case len(declared) > maxDeclaredTools:
		return fmt.Errorf("more than %d tools", maxDeclaredTools)
	}
	size := 0
	seen := map[string]bool{}
	for i := range declared {
		d := &declared[i]
		if seen[d.Name] {
			return fmt.Errorf("tools[%d]: the name repeats an earlier one", i)
		}
		seen[d.Name] = true
		size += len(d.Name)
		for _, m := range d.Members {
			size += len(m.Name)
		}
		if _, err := p.declaredShape(d); err != nil {
			return fmt.Errorf("tools[%d]: %w", i, err)
		}
	}
	if size > maxDeclaredBytes {
		return fmt.Errorf("the names of tools and members have more than %d bytes", maxDeclaredBytes)
	}
	return nil
}

// WithoutDeclared returns profiles by which no client's declaration counts.
func (p *Profiles) WithoutDeclared() *Profiles {
	q := *p
	q.undeclarable = true
	return &q
}

// declaredTool returns the shape that the client declared for the call's tool, nil for
// none. A name is that of an agent's own tool only if the call names no server.
func (t *tool) declaredTool() *shape {
	c := t.Call
	if c.Declared == nil || c.Tool.Server != "" || c.Tool.Name != c.Declared.Name || t.p != unknownAgent || !local(c) || t.all.undeclarable || t.id.remote {
		return nil
	}
	s, err := t.all.declaredShape(c.Declared)
	if err != nil {
		return nil // it is not declared at all
	}
	// What is in an object or a list may be a command or a path, and denies have to see it.
	if t.have == inputObject && slices.ContainsFunc(t.input, func(m strictjson.Member) bool {
		kind := strictjson.Kind(m.Value)
		return s.harmless[m.Name] && (kind == '{' || kind == '[')
	}) {
		return nil
	}
	return s
}

// declaredShape compiles a declaration.
func (p *Profiles) declaredShape(d *effects.DeclaredTool) (*shape, error) {
	if err := checkDeclaredName(d.Name); err != nil {
		return nil, fmt.Errorf("the name %w", err)
	}
	if _, _, remote := serverTool(d.Name); remote {
		return nil, errors.New("the name is that of a server's tool")
	}
	if len(d.Members) > maxDeclaredMembers {
		return nil, fmt.Errorf("it has more than %d members", maxDeclaredMembers)
	}
	s := &shape{name: "declared", declared: true, own: true, members: map[string]role{}, harmless: map[string]bool{}}
	for i, m := range d.Members {
		if err := checkDeclaredName(m.Name); err != nil {
			return nil, fmt.Errorf("the name of a member %w", err)
		}
		if i > 0 && d.Members[i-1].Name >= m.Name {
			return nil, errors.New("a member stands twice")
		}
		r, ok := declarable[m.Means]
		if !ok && m.Means != declaredHarmless {
			return nil, errors.New("a member has a meaning that is not known")
		}
		if err := p.checkRefinement(m.Name, r); err != nil {
			return nil, err
		}
		if r == roleNone {
			s.harmless[m.Name] = true
		} else {
			s.members[m.Name] = r
		}
	}
	for _, r := range effectRoles {
		if s.takes(r) {
			s.needs = append(s.needs, r)
		}
	}
	switch {
	case len(s.needs) == 0:
		return nil, errors.New("no member says what the tool does")
	case s.takes(roleFrom) && !s.takes(roleWrite):
		return nil, errors.New("it moves a file, and no member says where to")
	case s.takes(roleFilter) && !s.takes(roleTree) && !s.takes(roleGlob):
		return nil, errors.New("a filter selects among files, and no member is a tree or glob")
	case (s.takes(roleShell) || s.takes(roleTyped)) && !s.takes(roleCommand):
		return nil, errors.New("a shell or typed is about a command, and no member is one")
	}
	if len(s.needs) == 1 && s.takes(roleTree) {
		s.whole, s.needs = true, nil // without a folder it reads that of the session
	}
	return s, p.checkKnownName(d.Name, s)
}

func checkDeclaredName(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > maxDeclaredName:
		return fmt.Errorf("is longer than %d bytes", maxDeclaredName)
	case shell.HiddenCharacter(s) != "" || strings.ContainsAny(s, "\t\n\r"):
		return errors.New("has hidden, control or bidirectional characters")
	}
	return nil
}

// checkRefinement returns an error if a member whose name means something in the input of
// any tool is declared to mean less.
func (p *Profiles) checkRefinement(name string, r role) error {
	known := roleNone
	for n, k := range p.generic.members {
		if strings.EqualFold(n, name) {
			known = k
			break
		}
	}
	if known == roleNone || known != roleGrant && (r == roleCode || r == roleFeed) {
		return nil
	}
	for _, may := range refinements {
		if may.usual == known && slices.Contains(may.declared, r) {
			return nil
		}
	}
	return errors.New("a member is declared to mean less than its name does in the input of any tool")
}

// checkKnownName returns an error if all agents that have a tool of that name mean one that
// runs, changes or reaches something, and the declared one does not.
func (p *Profiles) checkKnownName(name string, s *shape) error {
	for _, class := range [][]role{
		{roleCommand, roleArgv, roleCommands, roleFeed, roleCode}, {roleWrite, roleDelete, rolePatch, roleFeed, roleCode}, {roleConnect, roleText, roleFeed, roleCode},
	} {
		is := func(s *shape) bool { return slices.ContainsFunc(class, s.takes) }
		if is(s) {
			continue
		}
		known, all := false, true
		for _, a := range p.agents {
			if of := a.tools[name]; of != nil {
				known, all = true, all && is(of)
			}
		}
		if known && all {
			return errors.New("the tool is declared to do less than the tools of that name do")
		}
	}
	return nil
}

// changes reports whether the tools of the shape change or run something.
func (s *shape) changes() bool {
	return slices.ContainsFunc([]role{roleCommand, roleArgv, roleCommands, roleFeed, roleCode, roleWrite, roleDelete, rolePatch, roleFrom}, s.takes)
}
