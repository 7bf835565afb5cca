package acp

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// toolIdentity is what messages about a call say of whose tool it is. Later messages may
// refine a call's title and input, but the tool of a call is one.
type toolIdentity struct {
	name, server string
	class        kindClass
}

// kindClass is what the kinds of a call have in common.
type kindClass uint8

const (
	classUnknown kindClass = iota // no kind, or one that says nothing
	classReads
	classChanges
	classRuns
	classSwitches // the agent's mode
)

func classOf(kind string) kindClass {
	switch kind {
	case "read", "search", "think", "fetch":
		return classReads
	case "edit", "delete", "move":
		return classChanges
	case "execute":
		return classRuns
	case "switch_mode":
		return classSwitches
	}
	return classUnknown
}

// identityOf returns the identity that one message names.
func identityOf(f *facts) toolIdentity {
	id := toolIdentity{name: f.name, class: classOf(f.kind)}
	if f.meta != nil {
		if id.name == "" {
			id.name = text(f.meta, "claudeCode", "toolName")
		}
		id.server = text(f.meta, "claudeCode", "mcpServer", "name")
	}
	if id.name == "" && (strings.HasPrefix(f.title, "mcp__") || strings.HasPrefix(f.title, "mcp.")) && !strings.ContainsAny(f.title, " /") {
		id.name = f.title
	}
	return id
}

// become adds what a message says. If that contradicts an earlier message, it returns a
// defect: what was announced is not what would run.
func (id *toolIdentity) become(said toolIdentity) (d *effects.Defect) {
	contradicts := func(at, what string) {
		d = &effects.Defect{Code: effects.DefectContradiction, At: at, Text: "an earlier message about the call named another " + what}
	}
	if said.class != classUnknown {
		if id.class != classUnknown && id.class != said.class {
			contradicts("kind", "kind")
		}
		id.class = said.class
	}
	if said.server != "" {
		if id.server != "" && id.server != said.server {
			contradicts("_meta", "server")
		}
		id.server = said.server
	}
	if said.name != "" {
		if id.name != "" && id.name != said.name {
			contradicts("name", "tool")
		}
		id.name = said.name
	}
	return d
}
