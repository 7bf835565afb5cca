package rules

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/publicsuffix"
	"github.com/permd/permd/policy/input"
)

// nearEntries returns the entries of a layer's lists that almost match.
func nearEntries(l *Layer, in *decisions.Input, set decisions.Set) []Near {
	ctx := pattern.Context{Project: in.Result.Project, Home: in.Call.User.Home, Cwd: in.Call.Cwd}
	var out []Near
	for i := range l.lists {
		e := &l.lists[i]
		if e.Set != set || e.Kind != in.Effect.Kind {
			continue
		}
		d := comparison{allow: set == decisions.SetAllow, effect: in.Effect, all: in.All, ctx: ctx}
		if !d.compare(e.Pattern) || len(d.found) == 0 {
			continue // about something else, or it fired
		}
		out = append(out, Near{
			Rule: e.ref, Set: set, Reason: fmt.Sprintf("listed under %s %s: %s", e.Set, e.Kind, e.Pattern),
			Held: d.held, Failed: d.found, cost: d.cost,
		})
	}
	return out
}

// comparison collects the differences between an effect and a line.
type comparison struct {
	allow  bool // the line allows, so it must cover all of the effect
	effect *effects.Effect
	all    []effects.Effect
	ctx    pattern.Context

	held  int
	cost  int
	found []Condition
}

func (d *comparison) say(cost int, format string, args ...any) {
	d.cost += cost
	d.found = append(d.found, Condition{Text: display.Display(fmt.Sprintf(format, args...))})
}

// compare reports whether the line is about the same subject as the effect. If
// it is and nothing differs, the line matches.
func (d *comparison) compare(p *pattern.Pattern) bool {
	e := d.effect
	if d.allow && p.Match(e, d.all, d.ctx) || !d.allow && p.Touches(e, d.ctx) {
		return true
	}
	if p.Detail() != e.Detail() {
		return false
	}
	about := false
	switch p.Detail() {
	case effects.DetailRun:
		about = d.run(p.Run, e.Run)
	case effects.DetailFile:
		about = d.path(p, e.File)
	case effects.DetailConnect:
		about = d.host(p.Host, e.Connect)
	case effects.DetailUse:
		about = d.tool(p.Tool, e.Use)
	case effects.NoDetail:
	}
	if about && len(d.found) == 0 {
		// The line does not match, so something must differ.
		d.say(costWord, "the line covers only a part of it")
	}
	return about
}

func (d *comparison) run(p *pattern.Run, r *effects.Run) bool {
	if !d.program(p, r) {
		return false
	}
	for i, w := range p.Words {
		if i >= len(r.Args) {
			d.say(costDetail, "the line has a further word: %s", writtenWord(w))
			break
		}
		if lit, ok := w.Literal(); ok && lit == r.Args[i] {
			d.held++
			continue
		} else if !ok && w.MatchWithin(r.Args[i]) {
			if why := describeEvasion(w, r.Args[i]); why != "" && d.allow {
				d.say(costDetail, "word %d is %s, and the * in %s does not stand for that", i+1, why, writtenWord(w))
			} else {
				d.held++
			}
			continue
		}
		if r.Args[i] == effects.DynamicWord {
			d.say(costWord, "word %d is only known when the command runs, the line says %s", i+1, writtenWord(w))
		} else {
			d.say(costWord, "word %d is %s, the line says %s", i+1, shown(r.Args[i]), writtenWord(w))
		}
		break // the remaining words are hardly comparable
	}
	if n := len(r.Args) - len(p.Words); n > 0 && !p.Rest && len(d.found) == 0 {
		d.say(costDetail, "the line ends here, and the command goes on with %s", shown(strings.Join(shownWords(r.Args[len(p.Words):]), " ")))
	}
	if !d.allow || len(d.found) > 0 && d.cost >= costWord {
		return true
	}
	switch {
	case len(p.Named) > 0:
		d.compareNamed(p, r)
	case p.Rest && r.HarmlessFrom > len(p.Words) && r.HarmlessFrom <= len(r.Args):
		d.say(costDetail, "%s is not known to be harmless, and a last * stands for nothing else", shownWord(r.Args[r.HarmlessFrom-1]))
	}
	if !r.Readonly && r.Stdin != effects.StdinNone && r.Stdin != "" && (!r.Known || r.Stdin == effects.StdinNetwork) {
		d.say(costDetail, "its standard input is %s, of which the line says nothing", stdinWords[r.Stdin])
	}
	if d.effect.Tags.Has(effects.Outside) && (r.Cwd == "" || r.Cwd != d.ctx.Cwd) {
		d.say(costDetail, "it runs outside of the project")
	}
	return true
}

// compareNamed compares the words that are not harmless, from the line's * on, with
// the words that it names.
func (d *comparison) compareNamed(p *pattern.Run, r *effects.Run) {
	n, k, before := len(p.Words), 0, -1
	for _, i := range r.Harmful {
		switch {
		case i < n || i >= len(r.Args):
			continue
		case i < r.OptionsFrom && !pattern.IsOption(r.Args[i]):
			d.say(costDetail, "%s is not known to be harmless, and after its * a line names only options", shownWord(r.Args[i]))
			return
		case k == len(p.Named) && !pattern.IsOption(r.Args[i]) && i == before+1:
			d.say(costDetail, "%s may be the value of %s, and the line gives it none", shownWord(r.Args[i]), shown(r.Args[before]))
			return
		case k == len(p.Named):
			d.say(costDetail, "%s is not known to be harmless, and the line does not name it", shownWord(r.Args[i]))
			return
		case r.Args[i] != p.Named[k] || !pattern.IsOption(p.Named[k]) && i != before+1:
			d.say(costDetail, "where the line names %s the command has %s", shown(p.Named[k]), shownWord(r.Args[i]))
			return
		}
		k, before = k+1, i
	}
	switch {
	case k < len(p.Named):
		d.say(costDetail, "the line names %s, which the command does not have, or which needs no name", shown(p.Named[k]))
	case r.OptionsFrom > n:
		d.say(costDetail, "the command has words after which a line cannot name options")
	}
}

var stdinWords = map[effects.Stdin]string{
	effects.StdinNone: "nothing",
	effects.StdinFile: "a file", effects.StdinText: "a text", effects.StdinPipe: "the output of another program",
	effects.StdinNetwork: "what came from the network",
}

// program compares the program. The same program in another form is near.
func (d *comparison) program(p *pattern.Run, r *effects.Run) bool {
	probe := effects.Effect{Kind: effects.KindRun, Run: &effects.Run{Program: r.Program, Executable: r.Executable}}
	line := pattern.Pattern{Kind: effects.KindRun, Run: &pattern.Run{Program: p.Program}}
	if d.allow && line.Match(&probe, nil, d.ctx) || !d.allow && line.Touches(&probe, d.ctx) {
		d.held++
		return true
	}
	if path.Base(r.Program) != path.Base(p.Program) {
		return false
	}
	d.say(costWord, "the program is %s, the line says %s", shown(r.Program), shown(p.Program))
	return true
}

// describeEvasion describes how a word evades the meaning of a *.
func describeEvasion(w pattern.Glob, arg string) string {
	switch {
	case arg == effects.DynamicWord:
		return "only known when the command runs"
	case strings.HasPrefix(arg, "-") && !strings.HasPrefix(w.Prefix(), "-"):
		return "the option " + shown(arg)
	case slices.Contains(strings.Split(arg, "/"), ".."):
		return "a path with .."
	case strings.ContainsFunc(arg, func(c rune) bool { return c < 0x20 || c == 0x7f }):
		return "a text with control characters"
	}
	return ""
}

func (d *comparison) path(p *pattern.Pattern, f *effects.File) bool {
	// The path as the call wrote it, links not followed.
	if given := filepath.Clean(f.AsWritten); d.allow && given != f.Path && f.AsWritten != "" {
		if !filepath.IsAbs(given) {
			given = filepath.Join(d.ctx.Cwd, given)
		}
		named := effects.Effect{Kind: d.effect.Kind, Tags: d.effect.Tags, File: &effects.File{Path: given, AsWritten: f.AsWritten, Recursive: f.Recursive}}
		if given != f.Path && p.Match(&named, nil, d.ctx) {
			d.held++
			d.say(costDetail, "a link leads from %s to %s", shown(given), shown(f.Path))
			return true
		}
	}
	one := effects.Effect{Kind: d.effect.Kind, Tags: d.effect.Tags, File: &effects.File{Path: f.Path, AsWritten: f.AsWritten}}
	if d.allow && f.Recursive && p.Match(&one, nil, d.ctx) {
		d.held++
		d.say(costDetail, "all that is below is meant too, and the line does not end with **")
		return true
	}
	root := map[pattern.Base]string{pattern.Root: "/", pattern.Home: d.ctx.Home, pattern.Project: d.ctx.Project}[p.Path.Base]
	rel, ok := input.Below(root, f.Path)
	if !ok {
		return false
	}
	same := 0
	parts := strings.Split(rel, "/")
	for i, part := range p.Path.Parts {
		if part == nil || i >= len(parts) || !part.Match(parts[i]) {
			break
		}
		same++
	}
	if same == 0 && p.Path.Base == pattern.Root {
		return false // both have in common only the leading /
	}
	d.held += same
	d.say(costWord, "the path is %s", shown(f.Path))
	return true
}

func (d *comparison) host(p *pattern.Host, c *effects.Connect) bool {
	if c.Host == "" {
		return false
	}
	switch {
	case c.Host == p.Name && !p.Below, p.Below && strings.HasSuffix(c.Host, "."+p.Name):
		d.held++
		d.say(costDetail, "the port is %s, the line says %d", port(c.Port), p.Port)
	case c.Host == p.Name:
		d.held++
		d.say(costDetail, "*.%s means the hosts below it, not itself", p.Name)
	case domainOf(c.Host) != "" && domainOf(c.Host) == domainOf(p.Name):
		d.held++
		d.say(costWord, "the host is %s", shown(c.Host))
	default:
		return false
	}
	return true
}

func port(n int) string {
	if n == 0 {
		return "not known"
	}
	return fmt.Sprint(n)
}

// domainOf returns the domain that an organisation registered, "" for none.
func domainOf(host string) string {
	name, _ := publicsuffix.Registered(host)
	return name
}

func (d *comparison) tool(p *pattern.Tool, u *effects.Use) bool {
	server := p.Server == nil && u.Server == "" || p.Server != nil && u.Server != "" && p.Server.Match(u.Server)
	name := p.Names(u)
	if !server && !name || name && isStar(p.Name) || server && p.Server != nil && isStar(p.Server) {
		return false // the names have only a * in common
	}
	if server && p.Server == nil {
		return false // two tools without a server have nothing in common
	}
	d.held++
	if !server {
		d.say(costWord, "the server is %s", writtenWord(pattern.Glob{u.Server}))
	}
	if !name {
		tool := u.Tool
		if _, _, versioned := p.Versioned(); versioned && u.Version != "" {
			tool += "@" + u.Version
		}
		d.say(costWord, "the tool is %s", shown(tool))
	}
	return true
}

// isStar reports whether a name is just a star.
func isStar(g pattern.Glob) bool { return len(g) == 2 && g[0] == "" && g[1] == "" }

// writtenWord returns a word of a line as written.
func writtenWord(g pattern.Glob) string { return shown(strings.Join(g, "*")) }

// shown returns a word of the call as it may be displayed.
func shown(s string) string {
	const limit = 60
	if s = display.Display(s); s == "" || strings.Contains(s, " ") {
		s = `"` + s + `"`
	}
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

func shownWord(arg string) string {
	if arg == effects.DynamicWord {
		return "a word that is only known when the command runs"
	}
	return shown(arg)
}

func shownWords(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if out[i] = a; a == effects.DynamicWord {
			out[i] = "…"
		}
	}
	return out
}
