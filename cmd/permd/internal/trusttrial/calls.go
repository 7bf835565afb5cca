package trusttrial

import (
	"crypto/rand"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/strictjson"
)

// agent is the one whose tools the calls are of: it has a tool for each kind of effect but deletes.
const agent = "claude-code"

// placeholders returns the texts that are tried for a *: a short name, and a random one. A project can
// hold a link with a fixed name, and then only calls with that name would ask.
func placeholders() [2]string { return [2]string{"x", "x" + strings.ToLower(rand.Text()[:8])} }

// call is a call that an entry speaks of.
type call struct {
	tool  string
	input strictjson.Value
	text  string // what people are shown of it
}

// maxSubs is how many sub-commands of a program are tried.
const maxSubs = 64

// callsOf returns calls that an entry of a project's list speaks of, in the order in which they are
// tried. An entry without a * has one, but for hosts. root is that of the project.
func callsOf(p *pattern.Pattern, root string, table *programs.Table) (calls []call) {
	for _, name := range placeholders() {
		calls = append(calls, callsWith(name, p, root, table)...)
		if !several(p) {
			break
		}
	}
	return calls
}

// callsWith returns the calls with a placeholder.
func callsWith(placeholder string, p *pattern.Pattern, root string, table *programs.Table) []call {
	switch p.Detail() {
	case effects.DetailRun:
		return runs(placeholder, p.Run, table)
	case effects.DetailFile:
		return []call{file(placeholder, p.Kind, p.Path, root)}
	case effects.DetailConnect:
		return connects(placeholder, p.Host)
	case effects.DetailUse, effects.NoDetail:
	}
	return nil
}

// several reports whether an entry speaks of more than one call.
func several(p *pattern.Pattern) bool {
	wild := func(g pattern.Glob) bool {
		_, literal := g.Literal()
		return !literal
	}
	switch p.Detail() {
	case effects.DetailRun:
		return p.Run.Rest || slices.ContainsFunc(p.Run.Words, wild)
	case effects.DetailFile:
		return slices.ContainsFunc(p.Path.Parts, wild) // that of ** is nil
	case effects.DetailConnect:
		return p.Host.Below
	case effects.DetailUse, effects.NoDetail:
	}
	return false
}

func shell(text string) call { return toolCall("Bash", "command", text) }

func toolCall(tool, member, text string) call {
	members := map[string]string{member: text}
	if tool == "Write" {
		members["content"] = ""
	}
	input, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		input = strictjson.Value("{}") // the text is not UTF-8, which no list is
	}
	return call{tool, strictjson.Value(input), text}
}

func runs(placeholder string, r *pattern.Run, table *programs.Table) []call {
	words := []string{r.Program}
	for _, w := range r.Words {
		words = append(words, strings.Join(w, placeholder))
	}
	line := func(more ...string) call {
		return shell(cli.QuoteAll(append(append(words[:len(words):len(words)], more...), r.Named...)))
	}
	if !r.Rest {
		return []call{line()}
	}
	calls := []call{line(placeholder)}
	if program := table.Program(r.Program); program != nil && len(words) == 1 {
		subs := slices.Sorted(maps.Keys(program.Subs))
		for _, sub := range subs[:min(len(subs), maxSubs)] {
			calls = append(calls, line(sub))
		}
	}
	return append(calls, line())
}

func file(placeholder string, kind effects.Kind, p *pattern.Path, root string) call {
	name := root
	for i, part := range p.Parts {
		switch {
		case part != nil:
			name = path.Join(name, strings.Join(part, placeholder))
		case i == len(p.Parts)-1:
			name = path.Join(name, placeholder)
		}
	}
	if kind == effects.KindRead {
		return toolCall("Read", "file_path", name)
	}
	if kind == effects.KindWrite {
		return toolCall("Write", "file_path", name)
	}
	return shell("rm " + cli.Quote(name))
}

func connects(placeholder string, h *pattern.Host) []call {
	name := h.Name
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if h.Below {
		name = placeholder + "." + name
	}
	if h.Port != 0 {
		name += ":" + strconv.Itoa(h.Port)
	}
	switch h.Scheme {
	case "":
		return []call{toolCall("WebFetch", "url", "https://"+name+"/"), toolCall("WebFetch", "url", "http://"+name+"/")}
	case "http", "https":
		return []call{toolCall("WebFetch", "url", h.Scheme+"://"+name+"/")}
	}
	return []call{shell("curl " + cli.Quote(h.Scheme+"://"+name+"/"))}
}
