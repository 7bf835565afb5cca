package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/decisions/targets"
	"github.com/permd/permd/internal/lexpath"
)

// adviseEntries checks the entries of lists, each alone and against the others.
func (l *adviser) adviseEntries(list []listEntry) {
	for _, e := range list {
		switch p := e.Pattern; p.Detail() {
		case effects.DetailRun:
			l.runEntry(e, p.Run)
		case effects.DetailFile:
			if e.Set == decisions.SetAllow {
				l.pathEntry(e, p.Path)
			}
			l.folderEntry(e, p.Path)
			l.guardedEntry(e, p.Path)
		case effects.DetailUse:
			l.toolEntry(e, p.Tool)
		case effects.DetailConnect, effects.NoDetail:
		}
	}
	l.overriddenEntries(list)
}

func (l *adviser) runEntry(e listEntry, r *pattern.Run) {
	if l.table == nil {
		return
	}
	allow := e.Set == decisions.SetAllow
	open := r.Rest || slices.ContainsFunc(r.Words, func(w pattern.Glob) bool { _, ok := w.Literal(); return !ok })
	switch runs := l.table.Runs(r.Program); {
	case l.table.Transparent(r.Program):
		l.warn(e, "name the program that it runs",
			"never matches: %s only runs another program, and that is the run which rules see", r.Program)
		return
	case allow && runs == programs.RunsCommands && (open || len(r.Words) == 0):
		l.warn(e, "name the program that it runs, in an entry of its own, and of "+r.Program+" only the words that you mean",
			"allows a program that runs others, with whatever options are harmless")
		return
	case allow && runs == programs.RunsCode && (open || len(r.Words) == 0):
		l.warn(e, fmt.Sprintf("name the script with its words, such as %q: what code does permd cannot see", r.Program+" scripts/check"),
			"allows a program that runs any code it is given")
		return
	case allow && targets.Runs(r.Program) && anyTarget(r):
		l.warn(e, "name the targets, one entry each: what they do is written in files of the project",
			"allows whatever targets the project has, now and later")
	case !l.table.Knows(r.Program) && !strings.Contains(r.Program, "/") && !targets.Runs(r.Program):
		near := similarNames(r.Program, l.table.Names())
		switch {
		case len(near) > 0:
			l.note(e, "did you mean "+strings.Join(near, " or ")+"?", "names a program that permd does not know")
		case r.Rest: // a literal match does what it says
			l.note(e, "check its spelling with: command -v "+r.Program,
				"names a program that permd does not know, so it can tell neither sub-commands nor what its options do")
		}
	case allow && r.Rest && r.ByPath() && !l.table.Knows(path.Base(r.Program)):
		l.warn(e, fmt.Sprintf("write out what it may be run with, an entry each, such as %q", r.Program+" --check"),
			"never matches: permd does not know what a program given by its path does, so a last * allows nothing")
		return
	case allow && r.Rest && len(r.Words) == 0 && l.table.HasSubcommands(r.Program):
		l.note(e, fmt.Sprintf("name the sub-command, such as %q", r.Program+" status *"),
			"is narrower than it looks: a last * stands for operands and harmless options, not for every sub-command")
	}
	l.shortOption(e, r)
	if allow {
		l.namedOptions(e, r)
	}
}

// namedOptions finds options that an allow names although the program table
// explains them: a line names only words that may have any effect, so such a
// line never matches.
func (l *adviser) namedOptions(e listEntry, r *pattern.Run) {
	words := make([]string, len(r.Words))
	for i, w := range r.Words {
		words[i], _ = w.Literal()
	}
	for _, option := range r.Named {
		if pattern.IsOption(option) && l.table.Explains(r.Program, words, option) {
			l.warn(e, "leave it out, where the * stands for it, or write it before the *",
				"never matches: the program table says what %s does, and after the * a line names only options that may change something", option)
			return
		}
	}
}

// anyTarget reports whether a line leaves the target open: a final * matches
// further targets, or after npm's run the only one.
func anyTarget(r *pattern.Run) bool {
	if !r.Rest {
		return false
	}
	switch r.Program {
	case "npm", "pnpm", "yarn", "bun":
		if len(r.Words) == 0 {
			return true
		}
		last, _ := r.Words[len(r.Words)-1].Literal()
		return last == "run" || last == "run-script"
	}
	return true
}

// shortOption finds denies and asks that test for one spelling of an option
// that the program table resolves, instead of its name: they miss every other
// spelling.
func (l *adviser) shortOption(e listEntry, r *pattern.Run) {
	if e.Set == decisions.SetAllow {
		return
	}
	if s := e.Pattern.Resolved(l.table).Run.Meaning; s != nil && s.Certain {
		return
	}
	subcommand, options, ok := r.Parts()
	if !ok {
		return
	}
	for _, option := range options {
		if name, ok := l.table.Flag(r.Program, subcommand, option); ok && name != option {
			l.warn(e, fmt.Sprintf("write %s, which means every spelling of it", name),
				"misses other spellings of %s: permd calls the option %s", option, name)
		}
	}
}

// wideFolders lists folders that hold all files of a person or of the machine. What an
// import refuses to allow is in wholeTree of package imports.
var wideFolders = []string{"/", "/home", "/Users", "/root", "/etc", "/usr", "/var", "/opt", "/tmp", "/var/tmp"}

func (l *adviser) pathEntry(e listEntry, p *pattern.Path) {
	line := p.String()
	top, deep := strings.CutSuffix(line, "/**")
	if !deep || strings.Contains(top, "*") {
		return
	}
	hint := "name the folders that you mean"
	switch {
	case p.Base == pattern.Root && (top == "" || slices.Contains(wideFolders, top)):
		l.warn(e, hint, "is all that lies below %s/, of every project and person", top)
	case p.Base == pattern.Root && strings.Count(top, "/") == 2 && (strings.HasPrefix(top, "/home/") || strings.HasPrefix(top, "/Users/")):
		l.warn(e, hint, "is a whole home, with all projects and settings that are not guarded")
	case line == "~/**":
		l.warn(e, hint, "is your whole home, with all projects and settings that are not guarded")
	case line == "./**" && e.Kind == effects.KindDelete:
		l.warn(e, hint, "is everything in the project, also in one call")
	}
}

// credentialFolders are folders in homes that are often meant with all that is in them.
var credentialFolders = []string{".aws", ".azure", ".config", ".docker", ".gnupg", ".kube", ".ssh", ".config/gcloud", ".config/gh", ".local", ".cache"}

// folderEntry finds lines that name a folder and not what is in it.
func (l *adviser) folderEntry(e listEntry, p *pattern.Path) {
	line := p.String()
	inHome, ok := strings.CutPrefix(line, "~/")
	if !ok || !slices.Contains(credentialFolders, inHome) {
		return
	}
	hint := "write " + quoteNames([]string{line + "/**"})
	if e.Set == decisions.SetAllow && guardedBelow(e.Kind, p, "x") != 0 {
		hint = "name each file with its whole path"
	}
	l.warn(e, hint, "means the folder itself, and no file in it")
}

// guardedEntry warns of allows with a wildcard for guarded names: only an entry with the exact
// path covers these.
func (l *adviser) guardedEntry(e listEntry, p *pattern.Path) {
	if e.Set != decisions.SetAllow || p.Literal() {
		return
	}
	if tags := guardedBelow(e.Kind, p, ""); tags != 0 {
		l.warn(e, "name each file with its whole path", "allows no file there that is guarded (%s): a line with a * never covers it", strings.Join(tags.Names(), ", "))
	}
}

// guardedBelow returns the guarded tags of a path as a line names it, with a name that says
// nothing for each wildcard, and one more below it if there is one.
func guardedBelow(kind effects.Kind, p *pattern.Path, below string) effects.Tags {
	const anything = "0"
	var names []string
	for _, part := range p.Parts {
		if part == nil {
			names = append(names, anything)
			continue
		}
		names = append(names, strings.Join(part, anything))
	}
	if below != "" {
		names = append(names, below)
	}
	rel := lexpath.Fold(strings.Join(names, "/"))
	file, inHome := "/"+rel, ""
	switch p.Base {
	case pattern.Home:
		file, inHome = "/home/somebody/"+rel, rel
	case pattern.Project:
		file = "/home/somebody/project/" + rel
	case pattern.Root:
	}
	return (&effects.Effect{Kind: kind, Tags: paths.Guarded().Match(file, inHome)}).Guarded()
}

func (l *adviser) toolEntry(e listEntry, t *pattern.Tool) {
	name, literal := t.Name.Literal()
	switch {
	case t.UnknownKind():
		l.warn(e, "the kinds are "+strings.Join(effects.NamelessKinds(), ", "), "never matches: no call that names no tool is of that kind")
	case t.Server == nil && literal && l.profiles != nil && l.profiles.Own(name):
		l.warn(e, "write what it may do instead: run, read, write, delete or connect entries",
			"never matches: %s is an agent's own tool, and permd sees what its calls do", name)
	case e.Set == decisions.SetAllow && t.Server != nil && isStar(t.Name):
		l.warn(e, `name its tools, such as "server:get_*"`, "allows every tool of the server, also those that it gets later")
	case e.Set == decisions.SetAllow && t.Server != nil && isStar(t.Server):
		l.warn(e, "name the server", "allows it of every server: whoever writes one chooses the names of its tools")
	}
}

// overriddenEntries finds entries that never decide anything, because another
// entry matches everything they match and takes precedence or has the same
// verdict.
func (l *adviser) overriddenEntries(list []listEntry) {
	const limit = 2000 // all pairs are compared; longer lists would take too long
	if len(list) > limit {
		list = list[:limit]
	}
	for i, e := range list {
		for j, o := range list {
			if i == j || o.Kind != e.Kind || !within(o, e) {
				continue
			}
			same := o.Set == e.Set
			if same && within(e, o) && j > i {
				continue // they are equal: the later one is redundant
			}
			switch {
			case stricter(o.Set, e.Set):
				l.warn(e, "leave it out, or make the other one narrower",
					"never counts: %s %q in line %d is stricter and matches all of it", o.Set, o.Pattern.String(), o.Line)
			case same:
				l.note(e, "leave it out", "says nothing more than %q in line %d", o.Pattern.String(), o.Line)
			default:
				continue
			}
			break // one reason is enough
		}
	}
}

// stricter reports whether a set takes precedence over another set of the same
// layer.
func stricter(a, b decisions.Set) bool {
	order := []decisions.Set{decisions.SetAllow, decisions.SetAsk, decisions.SetDeny}
	return slices.Index(order, a) > slices.Index(order, b)
}

// within reports whether one entry certainly matches everything another entry
// matches.
func within(wide, narrow listEntry) bool {
	return wide.Pattern.Covers(narrow.Pattern, wide.Set == decisions.SetAllow)
}
