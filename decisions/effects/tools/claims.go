package tools

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/strictjson"
)

// fromClaims adds the effects of a call of the agent's own tool without input. If the
// profile says that the agent sends a fact only in its claims, they become effects, marked
// as claimed; otherwise the call remains unknown.
func (t *tool) fromClaims(s *shape) {
	before := len(t.Effects)
	t.claimed = true
	cl := &t.Call.Claims
	switch {
	case t.id.from == "title" && t.id.mode != "":
		t.file(effects.KindRead, strings.TrimPrefix(cl.Title, t.id.name), t.cwd, "title")
	case s.takes(roleCommand):
		if t.p.claimTitle && cl.Title != "" {
			t.command(cl.Title, t.claimedFolder(), "title")
		}
	case s.takes(roleWrite) || s.takes(rolePatch):
		t.claimedChanges()
	case s.takes(roleDelete):
		t.claimedLocations(effects.KindDelete, nil)
	case s.takes(roleRead):
		t.claimedLocations(effects.KindRead, nil)
	case s.takes(roleTree):
		n := len(t.Effects)
		t.claimedLocations(effects.KindRead, nil)
		t.markRecursive(n)
	}
	if len(t.Effects) == before {
		t.claimed = t.id.claimed
		t.addMissing("the tool's input was not sent")
	}
}

// claimedFolder returns the folder in which the agent says its command runs.
func (t *tool) claimedFolder() string {
	for _, text := range t.Call.Claims.Texts {
		for _, prefix := range t.p.cwdText {
			rest, ok := strings.CutPrefix(text, prefix)
			if !ok {
				continue
			}
			given, _, ok := strings.Cut(rest, "]")
			if !ok {
				return ""
			}
			if given == t.Call.Cwd {
				return given
			}
			e := t.Paths.File(effects.KindRead, given, t.Call.Cwd, "content")
			if e.File == nil {
				return ""
			}
			return e.File.Path
		}
	}
	if t.Call.LiveShell {
		return ""
	}
	return t.cwd
}

// claimedChanges adds the changes that diffs and locations announce.
func (t *tool) claimedChanges() {
	var seen []string
	if t.p.claimDiffs {
		seen = t.diffChanges()
	}
	t.claimedLocations(effects.KindWrite, seen)
}

// diffChanges adds the changes that diffs announce, and returns their paths.
func (t *tool) diffChanges() (seen []string) {
	for _, d := range t.Call.Claims.Diffs {
		kind := effects.KindWrite
		if d.Operation == "delete" {
			kind = effects.KindDelete
		}
		t.file(kind, d.Path, t.cwd, d.From+".path")
		seen = append(seen, d.Path)
		if d.OldPath == "" {
			continue
		}
		seen = append(seen, d.OldPath)
		t.file(effects.KindRead, d.OldPath, t.cwd, d.From+".oldPath")
		if d.Operation != "copy" {
			t.file(effects.KindDelete, d.OldPath, t.cwd, d.From+".oldPath")
		}
	}
	return seen
}

// claimedLocations adds the locations that are not in seen.
func (t *tool) claimedLocations(kind effects.Kind, seen []string) {
	if !t.p.claimLocations {
		return
	}
	for _, l := range t.Call.Claims.Locations {
		if !slices.Contains(seen, l.Path) {
			t.file(kind, l.Path, t.cwd, l.From)
			seen = append(seen, l.Path)
		}
	}
}

// unnamedTool handles a call without a tool name. Over ACP a command is the own shell of an
// agent whose profile is permd's, and a claim of any other: the same call with a usual name of
// a shell is one, so it must not get a milder answer for naming nothing, and the command may as
// well be for a tool server's other machine. Paths and addresses are taken from the input, and
// what is done with them from the kind, which is a claim. Everything else is unknown, with the
// input's paths and commands added for denies.
func (t *tool) unnamedTool() {
	if t.have != inputObject || len(t.input) == 0 {
		if t.have != inputOther && t.kindClaims() {
			return
		}
		if t.have == inputOther {
			t.malformed(t.from, "the input is "+strictjson.KindName(strictjson.Kind(t.Call.Input))+", not an object")
		} else if len(t.Call.Marks) == 0 && !t.has(effects.KindQuestion) && t.Call.Claims.Kind != "switch_mode" {
			t.addMissing("neither the tool nor its input was sent")
			if t.onlyNamed() {
				t.Effects[len(t.Effects)-1].Cause = effects.CauseOnlyNamed
			}
		}
		return
	}
	s := t.all.generic
	n := len(t.Effects)
	// A folder counts only as a member of a known tool. This one may name the folder in
	// which the command would run anyway.
	fs := slices.DeleteFunc(t.facts(s, t.input, t.from), func(f fact) bool { return f.role == roleCwd && t.inSession(f.val) })
	var have roles
	for _, f := range fs {
		have |= 1 << f.role
	}
	acp := t.Call.Protocol == "acp"
	const commands = roles(1<<roleCommand | 1<<roleCommands)
	switch {
	case have&commands != 0 && !editorVerb(fs):
		t.checkAgreement(fs)
		t.each(s, fs, t.folder(fs, true), verbUnknown)
		t.unknownMembers(t.input, t.from)
		if t.p == unknownAgent || t.p.ofLayer {
			t.unnamedClaim, t.unnamed = true, [2]int{n, len(t.Effects)}
			if t.otherAsText && (t.Call.Claims.Kind == "read" || t.Call.Claims.Kind == "search") {
				t.addMissing("the kind says that nothing changes, and as shell text the list of words might")
			}
		}
		if !acp || have&^(commands|1<<roleGrant) != 0 {
			t.addMissing("the tool has no name, and its input is more than a command")
		}
		switch t.Call.Claims.Kind {
		case "", "execute", "read", "search":
		default:
			// The kind of other tools that have such a member too.
			t.addMissing("the tool has no name, and its kind is not that of a shell")
		}
	case acp && t.plainInput() && t.byKind(s, fs, have):
		t.claimed = true
		t.markClaimed(n)
	case have == 0 && t.plainInput() && t.kindClaims():
	default:
		t.guessed, t.isForeign = true, true
		t.fromForeign(t.input, t.from, 0)
		switch {
		case t.has(effects.KindQuestion), t.has(effects.KindMode), t.Call.Claims.Kind == "switch_mode":
		case t.useOfKind():
		default:
			t.addMissing("the tool has no name")
		}
	}
}

// claimUnnamed marks the effects of a command without a tool name as claims.
func (t *tool) claimUnnamed() {
	for i := t.unnamed[0]; i < t.unnamed[1]; i++ {
		t.Effects[i].Claimed = true
	}
}

// kindClaims adds what the kind of a tool without a name says over ACP, with the call's diffs
// and locations, if its input names no path; it reports whether it added anything. A command
// is never read from a title.
func (t *tool) kindClaims() bool {
	cl := &t.Call.Claims
	if t.p != unknownAgent || t.Call.Protocol != "acp" || len(t.Call.Marks) > 0 || t.id.remote || len(cl.Diffs)+len(cl.Locations) == 0 {
		return false
	}
	var kinds []effects.Kind // what is done with a location
	switch cl.Kind {
	case "read", "search":
		if len(cl.Diffs) > 0 || t.holdsContent() {
			return false // it contradicts itself
		}
		kinds = []effects.Kind{effects.KindRead}
	case "edit":
		kinds = []effects.Kind{effects.KindWrite}
	case "delete":
		kinds = []effects.Kind{effects.KindDelete}
	case "move":
		// Nothing says which of them is the old path.
		kinds = []effects.Kind{effects.KindRead, effects.KindDelete, effects.KindWrite}
	default:
		return false
	}
	n := len(t.Effects)
	seen := t.diffChanges()
	for _, l := range cl.Locations {
		if slices.Contains(seen, l.Path) {
			continue
		}
		seen = append(seen, l.Path)
		for _, kind := range kinds {
			at := len(t.Effects)
			t.file(kind, l.Path, t.cwd, l.From)
			if cl.Kind == "search" || kind == effects.KindDelete {
				t.markRecursive(at)
			}
		}
	}
	if cl.Kind == "search" {
		t.addSearchTags(n, paths.ReachAll)
	}
	if cl.Kind == "move" {
		t.markMoved(n)
	}
	t.claimed = true
	t.markClaimed(n)
	return true
}

// plainInput reports whether every member of the input is a known fact or known to be
// harmless.
func (t *tool) plainInput() bool {
	for _, m := range t.input {
		if t.all.roleOf(m.Name) == roleNone && !t.all.harmless[m.Name] {
			return false
		}
	}
	return true
}

// byKind adds the effects of a nameless file or fetch tool, and reports whether its kind
// and input match one. An input with new content is a write, whatever the kind.
func (t *tool) byKind(s *shape, fs []fact, have roles) bool {
	var v verb
	switch t.Call.Claims.Kind {
	case "read", "search":
		v = verbRead
	case "edit":
		v = verbWrite
	case "delete":
		v = verbDelete
	case "fetch":
		if have == 1<<roleConnect {
			t.each(s, fs, t.cwd, verbUnknown)
			return true
		}
		return false
	case "move":
		if have.has(roleFrom) && have.has(roleWrite) && have&^(1<<roleFrom|1<<roleWrite) == 0 {
			t.each(s, fs, t.cwd, verbUnknown)
			return true
		}
		return false
	default:
		return false
	}
	if have == 0 || have&^(1<<roleTouch|1<<roleCwd|1<<roleChanges|1<<rolePatch) != 0 {
		return false
	}
	if v == verbRead && (t.holdsContent() || have.has(roleChanges) || have.has(rolePatch)) {
		t.defect(effects.DefectContradiction, "kind", "the kind says that nothing changes, the input holds new content")
		v = verbWrite
	}
	n := len(t.Effects)
	t.checkAgreement(fs)
	t.each(s, fs, t.folder(fs, false), v)
	if t.Call.Claims.Kind == "search" || t.Call.Claims.Kind == "delete" {
		t.markRecursive(n)
	}
	return true
}

// holdsContent reports whether the input contains new content for a file.
func (t *tool) holdsContent() bool {
	for _, m := range t.input {
		switch m.Name {
		case "content", "old_string", "new_string", "oldString", "newString", "old_str", "new_str", "oldText", "newText",
			"file_text", "insert_text", "diff":
			return true
		}
	}
	return false
}

// absolute returns a claimed path, absolute and cleaned without following links.
func (t *tool) absolute(p string) string {
	if !path.IsAbs(p) {
		if t.Call.Cwd == "" {
			return ""
		}
		p = t.Call.Cwd + "/" + p
	}
	return path.Clean(p)
}

// onlyNamed reports whether a call over ACP has an id, a title and a kind that says that
// nothing is changed, and nothing else that could say what it does.
func (t *tool) onlyNamed() bool {
	c, cl := t.Call, &t.Call.Claims
	switch cl.Kind {
	case "read", "search", "think":
	default:
		return false
	}
	return c.Protocol == "acp" && cl.Only && t.have == inputAbsent && t.id.name == "" && t.id.server == "" && !t.id.remote && c.Tool == (effects.Tool{}) &&
		len(t.Effects) == 1 && len(t.Defects) == 0 && len(c.Defects) == 0 && c.Declared == nil && c.InputFrom == "" && c.Incomplete == "" &&
		strings.TrimSpace(cl.Title) != "" && cl.Prompt == "" && len(cl.Locations)+len(cl.Diffs)+len(cl.Texts)+len(cl.Meta) == 0
}
