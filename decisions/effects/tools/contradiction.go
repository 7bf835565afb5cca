package tools

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/shell"
	"github.com/permd/permd/internal/lexpath"
)

// contradict compares the agent's claims about its call with the call. Real agents label
// shell commands as reads and shorten titles, so a mismatch only counts if the profile
// says that the claim is exact, or if no honest call has such a mismatch.
func (t *tool) contradict() {
	cl := &t.Call.Claims
	t.checkHidden(cl.Title, "title")
	t.checkHidden(strings.ReplaceAll(cl.Prompt, "\n", " "), "title")
	t.checkHidden(t.Call.Tool.Name, "tool")
	t.checkHidden(t.Call.Tool.Server, "tool")
	t.title()
	switch cl.Kind {
	case "read", "search", "think", "fetch":
		if len(cl.Diffs) > 0 {
			t.defect(effects.DefectContradiction, "kind", "the kind says that nothing changes, a diff changes a file")
		}
		if !t.p.kindIsHint && !t.guessed {
			t.checkReadingKind()
		}
	}
	if !t.p.kindIsHint && !t.guessed && t.id.shape != nil && t.have == inputObject {
		t.checkChangingKind()
	}
	if t.have == inputObject && !t.id.remote && (t.id.shape != nil || t.id.name == "") {
		t.diffs()
		t.locations()
	}
}

// title compares the title, for agents that repeat their command there.
func (t *tool) title() {
	title := t.Call.Claims.Title
	if !t.p.titleIsCmd || t.claimed || title == "" || t.shellTexts != 1 || t.id.shape == nil || !t.id.shape.takes(roleCommand) {
		return
	}
	a, b := trimTitle(title), trimTitle(t.text)
	if a == b || title == t.id.name || title == "Terminal" {
		return
	}
	// Long commands may be truncated.
	for _, dots := range []string{"…", "..."} {
		if head, ok := strings.CutSuffix(a, dots); ok && len(head) >= 32 && strings.HasPrefix(b, head) {
			return
		}
	}
	t.defect(effects.DefectContradiction, "title", "the title shows another command than the one that would run")
}

// trimTitle removes what agents add for display: a pair of back quotes, white space, and
// the backslashes before back quotes inside them.
func trimTitle(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && s[0] == '`' && s[len(s)-1] == '`' {
		s = strings.ReplaceAll(s[1:len(s)-1], "\\`", "`")
	}
	return strings.TrimSpace(s)
}

// checkReadingKind compares a kind that claims to change nothing with the effects.
func (t *tool) checkReadingKind() {
	for i := range t.Effects {
		e := &t.Effects[i]
		if e.Claimed || e.Via != nil && t.use == e.Via.Effect {
			continue
		}
		switch e.Kind {
		case effects.KindWrite, effects.KindDelete, effects.KindState:
		case effects.KindRun:
			if e.Run.Readonly || t.Call.Claims.Kind == "fetch" {
				continue
			}
		case effects.KindRead, effects.KindConnect, effects.KindUse, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
			continue
		}
		t.defect(effects.DefectContradiction, "kind", "the kind says that nothing changes, the input changes something")
		return
	}
}

// checkChangingKind compares a kind that claims to change or run something with effects
// that only read: the tool may not be the one that its name says.
func (t *tool) checkChangingKind() {
	why := "the kind says that something changes, the input only reads"
	switch t.Call.Claims.Kind {
	case "edit", "delete", "move":
	case "execute":
		why = "the kind says that something runs, the input only reads"
	default:
		return
	}
	if len(t.Effects) == 0 {
		return
	}
	for i := range t.Effects {
		if e := &t.Effects[i]; e.Kind != effects.KindRead && (e.Kind != effects.KindConnect || e.Connect.Method != effects.MethodGet) {
			return
		}
	}
	t.defect(effects.DefectContradiction, "kind", why)
}

// diffs compares announced changes with the files that the input names.
func (t *tool) diffs() {
	for _, d := range t.Call.Claims.Diffs {
		for _, p := range []string{d.Path, d.OldPath} {
			if p != "" && !t.names(p, func(e *effects.Effect, p string) bool {
				return (e.Kind == effects.KindWrite || e.Kind == effects.KindDelete) && p == e.File.Path
			}) {
				t.defect(effects.DefectContradiction, d.From, "the diff changes a file that the input does not name")
			}
		}
	}
}

// locations compares the locations of a file tool with the paths of its input: each must
// be one of them, contain one, or lie in one. Commands are exempt: agents guess the
// paths in them.
func (t *tool) locations() {
	if t.shellTexts > 0 || t.commands > 0 || !t.has(effects.KindRead) && !t.has(effects.KindWrite) && !t.has(effects.KindDelete) {
		return
	}
	for _, l := range t.Call.Claims.Locations {
		if !t.names(l.Path, func(e *effects.Effect, p string) bool {
			return lexpath.In(p, e.File.Path) || lexpath.In(e.File.Path, p)
		}) {
			t.defect(effects.DefectContradiction, l.From, "the location is a path that the input does not name")
		}
	}
}

// names reports whether a claimed path matches an effect, as written or with links
// resolved.
func (t *tool) names(claimed string, fits func(e *effects.Effect, p string) bool) bool {
	lexical := t.absolute(claimed)
	for try := range 2 {
		p := lexical
		if try == 1 {
			e := t.Paths.File(effects.KindWrite, claimed, t.Call.Cwd, "")
			if e.File == nil {
				return false
			}
			if p = e.File.Path; p == lexical {
				return false
			}
		}
		if p == "" {
			continue
		}
		for i := range t.Effects {
			e := &t.Effects[i]
			if e.File == nil {
				continue
			}
			if fits(e, p) {
				return true
			}
		}
	}
	return false
}

// checkHidden records characters that make text look like other text.
func (t *tool) checkHidden(text, at string) {
	if text != "" && shell.HiddenCharacter(text) != "" {
		t.defect(effects.DefectCharacters, at, "hidden, control or bidirectional characters")
	}
}
