package tools

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// tellingWords are words in a member's name that say what a tool touches or
// how it runs something. A member of that kind that nobody knows of may be all
// that matters in the input: {"command": "ls", "env": {"PATH": "."}}.
var tellingWords = []string{
	"args", "argv", "arguments", "cmd", "cmds", "command", "commands", "cwd", "dest", "destination", "dir", "directories", "directory",
	"dst", "env", "environ", "environment", "exec", "executable", "file", "filename", "filenames", "filepath", "filepaths", "files",
	"folder", "folders", "host", "hostname", "hosts", "input", "interpreter", "link", "links", "out", "outfile", "output", "path", "paths",
	"pathname", "pathnames", "permission", "permissions", "rename", "root", "roots", "sandbox", "script", "scripts", "shell", "source",
	"sources", "src", "stdin", "stdout", "symlink", "target", "targets", "to", "uri", "uris", "url", "urls", "workdir", "workspace",
}

// tellingSwitches are words in the name of a member that says it by being true.
var tellingSwitches = []string{"bypass", "dangerously", "elevated", "escalated", "privileged", "root", "sudo", "unrestricted", "unsandboxed"}

// telling reports whether a member that no tool is known to take could say what
// the call touches: its name has such a word, and its value is text or holds
// some.
func (t *tool) telling(m *strictjson.Member) bool {
	if t.all.harmless[m.Name] {
		return false
	}
	list := tellingWords
	switch strictjson.Kind(m.Value) {
	case '"', '[', '{':
	case 't':
		list = tellingSwitches
	default:
		return false
	}
	if !granted(m.Value) {
		return false
	}
	for word := range words(m.Name) {
		if slices.Contains(list, word) {
			return true
		}
	}
	return false
}

// unknownMembers finds the members of an input, of a tool that nothing names,
// that no list knows: neither what they mean nor that they are harmless. Beside
// a command any of them may change what it does.
func (t *tool) unknownMembers(o strictjson.Object, from string) {
	for i := range o {
		m := &o[i]
		if _, near := t.nearMiss(m); near {
			continue // which is a defect already
		}
		if t.all.roleOf(m.Name) == roleNone && !t.all.harmless[m.Name] && granted(m.Value) {
			t.defect(effects.DefectContradiction, memberOf(from, m.Name), "no tool is known to take this member beside a command")
		}
	}
}

// besideCommand finds the members that stand beside the command of an object in
// a list. Such an object is read for its command alone, so that whatever else
// it says (a folder, the environment, further words) would be passed over.
func (t *tool) besideCommand(s *shape, o strictjson.Object, from string) {
	for i := range o {
		m := &o[i]
		if _, near := t.nearMiss(m); near {
			continue
		}
		r := s.members[m.Name]
		if r == roleNone {
			r = t.all.roleOf(m.Name)
		}
		if r != roleCommand && r != roleIgnore && !t.all.harmless[m.Name] && granted(m.Value) {
			t.defect(effects.DefectContradiction, memberOf(from, m.Name), "this member of a command in a list is not read")
		}
	}
}
