package imports

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// Zed: agent.tool_permissions has regular expressions for each tool. Deny
// precedes confirm, which precedes allow, then the tool's default, then the
// global one.

// Ranks of Zed's rules: patterns, the tool's default, the global default.
const (
	zedPattern = 2
	zedTool    = 1
	zedGlobal  = 0
)

func (t *translator) zed(f File) error {
	doc, err := parseJSONC(f)
	if err != nil {
		return err
	}
	agent := doc.get("agent")
	if agent == nil {
		t.note(Note{At: t.at(doc.line), Text: "agent", Outcome: Remark, Why: "the settings have no agent"})
		return nil
	}
	for _, m := range agent.members {
		switch m.name {
		case "tool_permissions":
			if err := t.zedPermissions(m.value); err != nil {
				return err
			}
		case "always_allow_tool_actions":
			if m.value.kind == 't' {
				t.mode(m.line, m.name+": true", "it allows everything; permd has no such profile, and this import widens nothing", `profile = "balanced" comes nearest`)
			}
		case "profiles", "default_profile":
			t.leaveOut(m.line, m.name, Elsewhere, "deny tools under use", "it says which tools an agent is offered, not what they may do")
		case "sandbox_permissions", "sandbox":
			t.leaveOut(m.line, m.name, Elsewhere, "keep it: a sandbox holds what a judgement cannot", "permd judges calls and builds no sandbox")
		default:
			t.note(Note{At: t.at(m.line), Text: "agent." + m.name, Outcome: Remark, Why: "it is not read for permissions"})
		}
	}
	return nil
}

func (t *translator) zedPermissions(n *node) error {
	if n.kind != '{' {
		return &fileError{at: t.at(n.line), err: typeError("object", n)}
	}
	t.zedBuiltIn(n.line)
	for _, m := range n.members {
		switch m.name {
		case "default":
			if err := t.zedDefault(m, "every tool", wholeArea(anyArea), zedGlobal); err != nil {
				return err
			}
		case "tools":
			if m.value.kind != '{' {
				return &fileError{at: t.at(m.line), err: typeError("object", m.value)}
			}
			for _, tool := range m.value.members {
				if err := t.zedTool(tool); err != nil {
					return err
				}
			}
		default:
			t.otherKey(m, nil)
		}
	}
	return nil
}

// zedBuiltIn is what Zed denies whatever the settings are: removing the root, a
// home folder, and the folder that it works in or one that contains it.
func (t *translator) zedBuiltIn(at int) {
	const re = `(?is)(?:^|[;&|({\s])rm\s+(?:\S+\s+)*(?:/\*?|(?:~|\$HOME|\$\{HOME\})(?:/\S*\.\.)?/?\*?|(?:\S*/)?\.\.?(?:/\*?)?)(?:[\s;&|)}]|$)`
	m := runs(re, true, nil, false)
	const whole = "input.effect.recursive == true"
	m.bodies = append(m.bodies,
		body(kindIs(effects.KindDelete), whole, `input.effect.path in {"/", input.user.home, input.call.cwd, input.project.root}`),
		body(kindIs(effects.KindDelete), whole, `startswith(input.call.cwd, concat("", [input.effect.path, "/"]))`))
	t.add(rule{at: t.at(at), text: "Zed's built-in rule for rm", set: decisions.SetDeny, m: m, rank: zedPattern + 1})
}

// zedDefault reads the default for when no pattern matches.
func (t *translator) zedDefault(m member, of string, all match, rank int) error {
	if m.value.kind != '"' {
		return &fileError{at: t.at(m.line), err: typeError("text", m.value)}
	}
	text := "default of " + of + ": " + m.value.text
	r := rule{at: t.at(m.line), text: text, m: all, rank: rank}
	switch m.value.text {
	case "allow":
		if all.area == anyArea {
			t.mode(m.line, text, "it allows everything; permd has no such profile, and this import widens nothing", `profile = "balanced" comes nearest`)
			// It keeps stricter defaults from being overestimated.
			return nil
		}
		r.set = decisions.SetAllow
	case "confirm":
		r.set = decisions.SetAsk
	case "deny":
		r.set = decisions.SetDeny
	default:
		return &fileError{at: t.at(m.line), err: typeError(`"allow", "confirm" or "deny"`, m.value)}
	}
	t.add(r)
	return nil
}

// zedArea returns what a tool of Zed does.
func zedArea(name string) (area, []effects.Kind) {
	switch name {
	case "terminal":
		return runArea, []effects.Kind{effects.KindRun}
	case "edit_file", "write_file", "create_directory", "save_file", "restore_file_from_disk", "copy_path", "create_file":
		return editArea, []effects.Kind{effects.KindWrite}
	case "move_path":
		return editArea, []effects.Kind{effects.KindWrite, effects.KindDelete}
	case "delete_path":
		return deleteArea, []effects.Kind{effects.KindDelete}
	case "fetch":
		return fetchArea, []effects.Kind{effects.KindConnect}
	case "read_file", "list_directory", "find_path", "grep", "diagnostics":
		return readArea, []effects.Kind{effects.KindRead}
	}
	return toolArea, []effects.Kind{effects.KindUse}
}

func (t *translator) zedTool(m member) error {
	if m.value.kind != '{' {
		return &fileError{at: t.at(m.line), err: typeError("object", m.value)}
	}
	a, kinds := zedArea(m.name)
	all := wholeArea(a)
	if a == toolArea {
		parts := strings.SplitN(m.name, ":", 3)
		switch {
		case len(parts) == 3 && parts[0] == "mcp":
			all = tool(parts[1], parts[2])
		default:
			all = tool("", m.name)
		}
	}
	sets := map[string]decisions.Set{"always_allow": decisions.SetAllow, "always_deny": decisions.SetDeny, "always_confirm": decisions.SetAsk}
	for _, k := range m.value.members {
		set, ok := sets[k.name]
		switch {
		case k.name == "default":
			if err := t.zedDefault(k, m.name, all, zedTool); err != nil {
				return err
			}
			continue
		case !ok:
			t.otherKey(k, nil)
			continue
		case k.value.kind != '[':
			return &fileError{at: t.at(k.line), err: typeError("list", k.value)}
		}
		for _, item := range k.value.items {
			src, fold, line := item.text, true, item.line
			if item.kind == '{' {
				p := item.get("pattern")
				if p == nil || p.kind != '"' {
					return &fileError{at: t.at(item.line), err: typeError("pattern", item)}
				}
				src, line = p.text, p.line
				if c := item.get("case_sensitive"); c != nil && c.kind == 't' {
					fold = false
				}
				for _, other := range item.members {
					if !slices.Contains([]string{"pattern", "case_sensitive"}, other.name) {
						t.otherKey(other, nil)
					}
				}
			} else if item.kind != '"' {
				return &fileError{at: t.at(item.line), err: typeError("pattern", item)}
			}
			r := rule{at: t.at(line), text: m.name + " " + k.name + ": " + src, set: set, rank: zedPattern}
			switch a {
			case runArea:
				r.m = commandRegexp(src, fold, set != decisions.SetAllow, false)
			case fetchArea:
				r.m = urlRegexp(src, fold)
			case toolArea:
				r.m, r.condition = all, "where the input matches "+src
			case anyArea, readArea, editArea, deleteArea:
				r.m = pathRegexpMatch(a, kinds, src, fold)
			}
			t.add(r)
		}
	}
	return nil
}

// urlRegexp returns the match of addresses by an expression. An allow keeps
// only a host that is spelled out in an expression anchored at the host.
func urlRegexp(src string, fold bool) match {
	flags := "(?s)"
	if fold {
		flags = "(?is)"
	}
	re, _ := withoutLookaround(src)
	m := hosts(nil, false, flags+re)
	if m.untranslatable != nil {
		return m
	}
	if host := spelledHost(re); host != "" {
		m.lines = []line{{effects.KindConnect, host}}
		m.narrow = "the whole host is compared; other addresses that the expression matches are not covered"
		return m
	}
	return inexpressible(m, NoPattern, "name the hosts under connect", "the expression is not one host")
}

// spelledHost returns the host that an expression spells out completely, as in
// ^https?://docs\.rs(/|$) or docs\.rs; "" if it does not.
func spelledHost(re string) string {
	s := strings.TrimPrefix(re, "^")
	for _, scheme := range []string{"https?://", "https://", "http://", `https?:\/\/`, `https:\/\/`} {
		s = strings.TrimPrefix(s, scheme)
	}
	for _, end := range []string{"(/|$)", "/.*", "(/.*)?$", "/", `\/`, "$", `\b`} {
		s = strings.TrimSuffix(s, end)
	}
	s = strings.ReplaceAll(s, `\.`, "\x00")
	if s == "" || strings.ContainsAny(s, `.\[](){}*+?|^$/: `) || !strings.Contains(s, "\x00") {
		return ""
	}
	return strings.ToLower(strings.ReplaceAll(s, "\x00", "."))
}

// pathRegexpMatch returns the match of files by an expression over the path as
// the tool gets it.
func pathRegexpMatch(a area, kinds []effects.Kind, src string, fold bool) match {
	flags := "(?s)"
	if fold {
		flags = "(?is)"
	}
	re, _ := withoutLookaround(src)
	if matchesAll(re) {
		return wholeArea(a)
	}
	tests := []pathTest{{"path", flags + re}, {"project_path", flags + re}, {"given", flags + re}}
	m := paths(a, kinds, nil, tests, false)
	if m.untranslatable != nil {
		return m
	}
	if folder, ok := spelledFolder(re); ok {
		for _, k := range kinds {
			m.lines = append(m.lines, line{k, "./" + folder + "/**"})
		}
		return m
	}
	if ext, ok := spelledEnding(re); ok {
		for _, e := range ext {
			for _, k := range kinds {
				m.lines = append(m.lines, line{k, "./**/*." + e})
			}
		}
		m.narrow = "it covers the project alone"
		return m
	}
	return inexpressible(m, NoPattern, "write the paths under read, write or delete", "the expression is not a folder and not an ending of names")
}

// spelledFolder reads expressions like ^src/.
func spelledFolder(re string) (string, bool) {
	s, ok := strings.CutPrefix(re, "^")
	s = strings.TrimSuffix(s, ".*")
	s, slash := strings.CutSuffix(s, "/")
	s = strings.ReplaceAll(s, `\.`, ".")
	return s, ok && slash && s != "" && !strings.HasPrefix(s, "/") && !strings.ContainsAny(s, `\[](){}*+?|^$`) && !strings.Contains(s, "..")
}

// spelledEnding reads expressions like \.md$ and \.(md|txt)$.
func spelledEnding(re string) ([]string, bool) {
	s, ok := strings.CutPrefix(re, `\.`)
	s, end := strings.CutSuffix(s, "$")
	s = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(s, "("), "?:"), ")")
	if !ok || !end || s == "" || strings.ContainsAny(s, `\[](){}*+?^$./`) {
		return nil, false
	}
	return strings.Split(s, "|"), true
}
