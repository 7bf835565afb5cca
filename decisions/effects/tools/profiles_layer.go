package tools

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/decisions/effects/programs"
)

// Bounds of the profiles of a layer.
const (
	maxLayerAgents = 64
	maxLayerTools  = 1024 // of all its agents
)

// LayerProfiles are the profiles of org or of a person, for agents that permd ships none of.
// Immutable.
type LayerProfiles struct {
	agents []*profile
	names  [][]string // of each agent
	list   []LayerAgent
}

// LayerAgent is an agent that a layer describes.
type LayerAgent struct {
	ID        string
	Redefines bool   // org describes an agent that permd ships a profile of
	At        string // file:line
}

// ProfileError is an error in a file with profiles of a layer.
type ProfileError struct {
	File string
	Line int // from 1; 0 if not known
	Text string
	Fix  string // "" if there is no suggestion
}

// layerData is a file with profiles of a layer. What all agents have in common is not a
// layer's to say.
type layerData struct {
	Version int                  `yaml:"version"`
	Shapes  map[string]shapeData `yaml:"shapes"`
	Agents  []layerAgentData     `yaml:"agents"`
}

type layerAgentData struct {
	agentData `yaml:",inline"`
	Redefines bool `yaml:"redefines"`
}

// List returns the agents, in the order of files and lines.
func (l *LayerProfiles) List() []LayerAgent { return slices.Clone(l.list) }

// ParseLayer reads files with profiles (name -> content) of org or of a person. An agent that
// has a profile already can be described again only by org, which says so (redefines: true).
// The profiles are nil if there are errors.
func (p *Profiles) ParseLayer(files map[string][]byte, org bool) (*LayerProfiles, []*ProfileError) {
	r := &layerParser{over: p, org: org, out: &LayerProfiles{}, taken: map[string]bool{}, ids: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		r.file(name, files[name])
	}
	if r.errs != nil {
		return nil, r.errs
	}
	return r.out, nil
}

// With returns the profiles with those of a layer, which may be nil. Those of a person do not
// change what org sees of a call (Result.Unprofiled).
func (p *Profiles) With(l *LayerProfiles) *Profiles {
	if l == nil || len(l.agents) == 0 {
		return p
	}
	q := *p
	q.agents, q.byName = append(slices.Clip(p.agents), l.agents...), maps.Clone(p.byName)
	for i, a := range l.agents {
		for _, name := range l.names[i] {
			key := strings.ToLower(name)
			if a.personal && p.byName[key] != nil {
				continue // org has described it since
			}
			q.byName[key] = append([]*profile{a}, q.byName[key]...)
		}
	}
	return &q
}

// layerParser reads the files of one layer.
type layerParser struct {
	over  *Profiles
	org   bool
	out   *LayerProfiles
	taken map[string]bool // names of agents in the layer, in lower case
	ids   map[string]bool
	tools int
	errs  []*ProfileError
}

func (r *layerParser) fail(file string, line int, fix, format string, args ...any) {
	r.errs = append(r.errs, &ProfileError{File: file, Line: line, Text: fmt.Sprintf(format, args...), Fix: fix})
}

func (r *layerParser) file(name string, data []byte) {
	var d layerData
	root, errs := programs.ReadDocument(name, data, &d)
	for _, e := range errs {
		r.fail(e.File, e.Line, e.Fix, "%s", e.Text)
	}
	if root == nil {
		return
	}
	if d.Version != 1 {
		r.fail(name, root.Line, "write version: 1", "version %d is not known", d.Version)
		return
	}
	shapes := maps.Clone(r.over.shapes)
	at := value(root, "shapes")
	for i := 0; at != nil && i+1 < len(at.Content); i += 2 {
		key := at.Content[i]
		sd := d.Shapes[key.Value]
		s, err := sd.compile(key.Value)
		switch {
		case r.over.shapes[key.Value] != nil || key.Value == "generic":
			r.fail(name, key.Line, "give it another name", "the shape %q is one of permd's", key.Value)
		case len(sd.Starts)+len(sd.Narrow) > 0:
			r.fail(name, key.Line, "leave them out", "shape %s: starts and narrow are not a layer's to say", key.Value)
		case err != nil:
			r.fail(name, key.Line, "", "%v", err)
		default:
			shapes[key.Value] = s
		}
	}
	if at = value(root, "agents"); at == nil || r.errs != nil {
		return
	}
	for i := range d.Agents {
		r.agent(name, at.Content[i].Line, &d.Agents[i], shapes)
	}
}

func (r *layerParser) agent(file string, line int, d *layerAgentData, shapes map[string]*shape) {
	a, err := d.compile(shapes)
	if err == nil {
		err = r.checkNames(d)
	}
	if err != nil {
		r.fail(file, line, "", "agent %q: %v", d.ID, err)
		return
	}
	redefines := false
	for _, name := range d.Names {
		key := strings.ToLower(name)
		switch known := r.over.byName[key] != nil; {
		case r.taken[key]:
			r.fail(file, line, "write the two as one", "agent %q: the name %q stands twice", d.ID, name)
		case known && !r.org:
			r.fail(file, line, "leave it out: only org can describe it anew", "agent %q: %q has a profile already", d.ID, name)
		case known && !d.Redefines:
			r.fail(file, line, "write redefines: true, if this is meant to replace it", "agent %q: %q has a profile already", d.ID, name)
		case known:
			redefines = true
		}
		r.taken[key] = true
	}
	switch {
	case d.Redefines && !r.org:
		r.fail(file, line, "leave it out", "agent %q: redefines is for org alone", d.ID)
	case d.Redefines && !redefines:
		r.fail(file, line, "leave it out", "agent %q: redefines is set, and no name has a profile", d.ID)
	}
	a.ofLayer, a.personal = true, !r.org
	r.out.agents, r.out.names = append(r.out.agents, a), append(r.out.names, d.Names)
	r.out.list = append(r.out.list, LayerAgent{ID: d.ID, Redefines: redefines, At: fmt.Sprintf("%s:%d", file, line)})
	if len(r.out.agents) == maxLayerAgents+1 {
		r.fail(file, line, "", "the layer describes more than %d agents", maxLayerAgents)
	}
}

// checkNames checks the names of an agent and its tools.
func (r *layerParser) checkNames(d *layerAgentData) error {
	if r.ids[d.ID] {
		return errors.New("the id stands twice")
	}
	r.ids[d.ID] = true
	for _, name := range append([]string{d.ID}, d.Names...) {
		if err := checkDeclaredName(name); err != nil {
			return fmt.Errorf("a name %w", err)
		}
	}
	for _, names := range d.Tools {
		if r.tools += len(names); r.tools > maxLayerTools {
			return fmt.Errorf("the layer describes more than %d tools", maxLayerTools)
		}
		for _, name := range names {
			if err := checkDeclaredName(name); err != nil {
				return fmt.Errorf("the name of a tool %w", err)
			}
		}
	}
	return nil
}

// value returns the value of a key of a map, nil if there is none.
func value(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// Error returns the place and the problem.
func (e *ProfileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("reading agent profiles %s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("reading agent profiles %s:%d: %s", e.File, e.Line, e.Text)
}
