package imports

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/lexpath"
)

// opencode: permission maps tools to an action, or to patterns with an action
// each. The last rule that matches decides, so later rules have a higher rank.

func (t *translator) opencode(f File) error {
	var doc *node
	var err error
	only := ""
	if ext := filepath.Ext(f.Name); ext == ".md" {
		only = "for the agent " + strings.TrimSuffix(filepath.Base(f.Name), ext)
		doc, err = parseYAML(f)
	} else {
		doc, err = parseJSONC(f)
	}
	if err != nil {
		return err
	}
	if doc.kind != '{' {
		return &fileError{at: t.at(doc.line), err: typeError("object", doc)}
	}
	o := &opencode{t: t, servers: doc.get("mcp")}
	others := 0
	for _, m := range doc.members {
		switch m.name {
		case "tools":
			err = o.tools(m, only)
		case "permission":
			err = o.permission(m.value, only)
		case "agent", "mode":
			if m.value.kind != '{' {
				others++ // a mode of one agent
				continue
			}
			for _, agent := range m.value.members {
				what := "for the agent " + agent.name
				if p := agent.value.get("permission"); p != nil && err == nil {
					err = o.permission(p, what)
				}
				if p := agent.value.get("tools"); p != nil && err == nil {
					err = o.tools(member{"tools", p.line, p}, what)
				}
			}
		case "autoshare", "share", "$schema", "mcp", "model", "provider", "theme", "description", "prompt", "temperature":
			others++
		default:
			t.note(Note{At: t.at(m.line), Text: m.name, Outcome: Remark, Why: "it is not read for permissions"})
		}
		if err != nil {
			return err
		}
	}
	if others > 0 {
		t.note(Note{At: t.at(0), Text: otherSettings(others), Outcome: Remark, Why: "they say nothing of permissions"})
	}
	return nil
}

func otherSettings(n int) string {
	if n == 1 {
		return "1 other setting"
	}
	return fmt.Sprintf("%d other settings", n)
}

type opencode struct {
	t       *translator
	servers *node
}

// tools reads the old form, in which false disables a tool.
func (o *opencode) tools(m member, only string) error {
	if m.value.kind != '{' {
		return &fileError{at: o.t.at(m.line), err: typeError("object", m.value)}
	}
	for _, e := range m.value.members {
		switch e.value.kind {
		case 'f':
			if err := o.rule(e.name, "*", "deny", e.line, only); err != nil {
				return err
			}
		case 't':
			o.t.note(Note{At: o.t.at(e.line), Text: e.name + ": true", Outcome: Remark, Why: "the tool is offered; that allows nothing"})
		default:
			return &fileError{at: o.t.at(e.line), err: typeError("true or false", e.value)}
		}
	}
	return nil
}

func (o *opencode) permission(n *node, only string) error {
	if n.kind == '"' {
		return o.rule("*", "*", n.text, n.line, only)
	}
	if n.kind != '{' {
		return &fileError{at: o.t.at(n.line), err: typeError("object", n)}
	}
	for _, m := range n.members {
		switch m.value.kind {
		case '"':
			if err := o.rule(m.name, "*", m.value.text, m.line, only); err != nil {
				return err
			}
		case '{':
			for _, p := range m.value.members {
				if p.value.kind != '"' {
					return &fileError{at: o.t.at(p.line), err: typeError("text", p.value)}
				}
				if err := o.rule(m.name, p.name, p.value.text, p.line, only); err != nil {
					return err
				}
			}
		default:
			return &fileError{at: o.t.at(m.line), err: typeError("text or an object", m.value)}
		}
	}
	return nil
}

func (o *opencode) rule(name, glob, action string, at int, only string) error {
	set := decisions.Set(action)
	if !slices.Contains(sets, set) {
		return &fileError{at: o.t.at(at), err: fmt.Errorf("%q is not allow, ask or deny", action)}
	}
	if name != "*" {
		for _, n := range matchNames(name, "bash", "read", "edit", "list", "glob", "grep", "webfetch", "external_directory") {
			if err := o.rule(n, glob, action, at, only); err != nil {
				return err
			}
		}
	}
	r := rule{at: o.t.at(at), text: fmt.Sprintf("%s %s: %s", name, glob, action), set: set, rank: len(o.t.rules), condition: only}
	all := glob == "*" || glob == "**"
	home := strings.NewReplacer("$HOME/", "~/").Replace(glob)
	if strings.HasPrefix(glob, "~/") || strings.HasPrefix(glob, "$HOME/") {
		glob = home
	}
	file := func(a area, kinds ...effects.Kind) match {
		if all {
			return wholeArea(a)
		}
		return opencodePath(a, kinds, glob)
	}
	switch name {
	case "*":
		r.m = wholeArea(anyArea)
		if !all {
			r.m = opencodeAny(glob)
		}
	case "bash":
		r.m = wholeArea(runArea)
		if !all {
			r.m = runGlob(glob)
		}
	case "read":
		r.m = file(readArea, effects.KindRead)
	case "list", "glob", "grep":
		r.m = wholeArea(readArea)
		if !all {
			r.condition = join(only, "for "+glob)
		}
	case "edit", "write", "patch", "multiedit":
		kinds := []effects.Kind{effects.KindWrite}
		if set != decisions.SetAllow {
			kinds = append(kinds, effects.KindDelete)
		}
		r.m = file(editArea, kinds...)
	case "webfetch":
		r.m = wholeArea(fetchArea)
		if !all {
			r.m = urlGlob(glob)
		}
	case "external_directory":
		r.m = opencodeOutside(all, set, glob)
	case "doom_loop":
		o.t.leaveOut(at, r.text, Elsewhere, "", "permd does not count calls")
		return nil
	default:
		r.m = o.tool(name)
		if !all {
			r.condition = join(only, "for "+glob)
		}
	}
	o.t.add(r)
	return nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

// opencodeAny is a pattern for every tool: of commands and of paths.
func opencodeAny(glob string) match {
	run := runGlob(glob)
	m := match{area: anyArea, bodies: run.bodies, lines: run.lines}
	re := "(?s)^" + globRegexp(glob) + "$"
	m.bodies = append(m.bodies, body(`input.effect.kind in {"read", "write", "delete"}`, regoText(re, "input.effect.path")),
		body(`input.effect.kind in {"read", "write", "delete"}`, regoText(re, "input.effect.project_path")),
		body(kindIs(effects.KindUse), regoText(re, "input.effect.tool")))
	m.decides = func(i *Item) bool {
		i2 := *i
		i2.area = runArea
		return i.area == runArea && run.decides(&i2)
	}
	return m
}

// opencodePath is a pattern of paths; * also matches slashes. A relative
// pattern starts at the project's root.
func opencodePath(a area, kinds []effects.Kind, glob string) match {
	base := pattern.Project
	switch {
	case strings.HasPrefix(glob, "~/"):
		base, glob = pattern.Home, glob[2:]
	case strings.HasPrefix(glob, "/"):
		base, glob = pattern.Root, strings.TrimLeft(glob, "/")
	default:
		glob = strings.TrimPrefix(glob, "./")
	}
	_, tests, err := pathGlob(base, glob, ".*")
	list := glob
	exact := false
	switch {
	case strings.HasSuffix(glob, "/*") && !strings.Contains(strings.TrimSuffix(glob, "/*"), "*"):
		list, exact = glob+"*", true
	case strings.HasPrefix(glob, "*") && !strings.HasPrefix(glob, "**") && !strings.ContainsAny(glob[1:], "*/"):
		list, exact = "**/"+glob, true // *.env matches at any depth
	case !strings.Contains(glob, "*"):
		exact = true
	}
	lines, _, failed := pathGlob(base, list, ".*")
	if failed == nil {
		failed = err
	}
	m := paths(a, kinds, lines, tests, exact && failed == nil)
	if base == pattern.Project && strings.HasPrefix(glob, "*") {
		// A path outside of the project matches too.
		_, everywhere, _ := pathGlob(pattern.Root, glob, ".*")
		wide := paths(a, kinds, nil, append(tests, everywhere...), false)
		m.bodies, m.decides, m.exact = wide.bodies, wide.decides, false
	}
	if failed != nil && len(lines) == 0 {
		m.untranslatable = &untranslatable{NoPattern, failed.Error(), "write the paths out"}
	}
	if !exact && m.untranslatable == nil {
		m.narrow = "a * in the middle stands for a part of one name"
	}
	return m
}

// opencodeOutside is access to folders outside the project. The question is
// asked in addition to the tool's own, so rules of tools are no exceptions to
// it.
func opencodeOutside(all bool, set decisions.Set, glob string) match {
	kinds := []effects.Kind{effects.KindRead, effects.KindWrite, effects.KindDelete}
	if set == decisions.SetAllow {
		kinds = kinds[:1]
	}
	m := match{area: editArea, all: false}
	if !all {
		m = opencodePath(editArea, kinds, glob)
	} else {
		m.bodies = []string{body(`input.effect.kind in {"read", "write", "delete"}`, `"outside" in input.effect.tags`)}
		m.decides = func(i *Item) bool {
			return i.path != "" && i.project != "" && !lexpath.Below(i.project, i.path)
		}
		if set == decisions.SetAllow {
			m.untranslatable = &untranslatable{Everything, "it opens every folder", "allow the folders that you mean under read and write"}
		}
	}
	m.separateQuestion = "external_directory"
	if set == decisions.SetAllow && m.untranslatable == nil {
		m.narrow = "only reading; allow write for what may be changed there"
	}
	return m
}

// tool is a tool by its name. Tools of servers are named server_tool.
func (o *opencode) tool(name string) match {
	if o.servers != nil {
		for _, s := range o.servers.members {
			if rest, ok := strings.CutPrefix(name, s.name+"_"); ok && rest != "" {
				m := tool(s.name, rest)
				m.bodies = append(m.bodies, tool("", name).bodies...)
				m.exact = false
				return m
			}
		}
	}
	m := tool("", name)
	if strings.Contains(name, "_") || strings.Contains(name, "*") {
		m.exact = false
		m.bodies = append(m.bodies, body(kindIs(effects.KindUse), `input.effect.server != ""`,
			fmt.Sprintf("regex.match(%s, concat(\"_\", [input.effect.server, input.effect.tool]))", quote("(?s)^"+globRegexp(name)+"$"))))
		own := m.decides
		m.decides = func(i *Item) bool {
			return own(i) || i.area == toolArea && i.server != "" &&
				pattern.Glob(strings.Split(name, "*")).Match(i.server+"_"+i.tool)
		}
	}
	return m
}
