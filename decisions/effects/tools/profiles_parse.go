package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/decisions/effects/plainshell"
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
	p := &Profiles{byName: map[string][]*profile{}, harmless: map[string]bool{}, agentStarters: map[string]bool{}, narrow: map[string]bool{}, factNames: map[string]bool{}}
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
		p.agentStarters[name] = true
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
	p.shapes = shapes
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
	if err := p.compileStandard(d.Standard, shapes); err != nil {
		return nil, err
	}
	p.addNames(p.generic)
	for _, s := range shapes {
		p.addNames(s)
	}
	slices.Sort(p.names)
	p.names = slices.Compact(p.names)
	return p, nil
}

// addNames adds a shape's names of facts to those that near misses are compared with.
func (p *Profiles) addNames(s *shape) {
	for name, r := range s.members {
		if r != roleIgnore {
			p.names = append(p.names, name)
			p.factNames[strings.ToLower(name)] = true
		}
	}
}

func (d *shapeData) compile(name string) (*shape, error) {
	s := &shape{name: name, members: map[string]role{}, harmless: map[string]bool{}, whole: d.Whole, wraps: d.Wraps, use: d.Use, question: d.Question, mode: d.Mode, enters: d.Enters}
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
	if s.use != "" && s.use != "agent" && s.use != "plain" && s.use != "server" {
		return nil, fmt.Errorf("shape %s: use is %q, want agent, plain or server", name, s.use)
	}
	if slices.Contains(s.enters, "") {
		return nil, fmt.Errorf("shape %s: enters a mode without a name", name)
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
		shellPrefix: d.ShellPrefix, argv: d.Argv, onlyQuestions: d.Asks, liveShell: d.LiveShell, freshShell: d.FreshShell, inputText: d.InputText, separator: d.Separator,
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
			if s, err = s.withSiblings(d.Siblings); err != nil {
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
		shell := plainshell.Named(name)
		if shell == plainshell.NotRead || name != "bash" && name != "sh" && name != "zsh" || p.shells&shell != 0 {
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
