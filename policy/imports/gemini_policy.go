package imports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions"
)

func (t *translator) geminiPolicy(doc *node) error {
	for _, m := range doc.members {
		switch m.name {
		case "rule":
			if m.value.kind != '[' {
				return &fileError{at: t.at(m.line), err: typeError("list", m.value)}
			}
			for _, item := range m.value.items {
				if err := t.geminiRule(item); err != nil {
					return err
				}
			}
		case "safety_checker":
			t.leaveOut(m.line, m.name, Elsewhere, "", "a checker is a program; what it would say is not known")
		default:
			t.otherKey(m, nil)
		}
	}
	return nil
}

// list is a string or a list of strings.
func (n *node) list() ([]string, bool) {
	switch {
	case n == nil:
		return nil, true
	case n.kind == '"':
		return []string{n.text}, true
	case n.kind != '[':
		return nil, false
	}
	var out []string
	for _, item := range n.items {
		if item.kind != '"' {
			return nil, false
		}
		out = append(out, item.text)
	}
	return out, true
}

func (t *translator) geminiRule(n *node) error {
	r := rule{at: t.at(n.line)}
	only, err := t.geminiConditions(n, &r)
	if err != nil {
		return err
	}
	decision := n.get("decision")
	if decision == nil {
		return &fileError{at: r.at, err: fmt.Errorf("the rule has no decision")}
	}
	sets := map[string]decisions.Set{"allow": decisions.SetAllow, "deny": decisions.SetDeny, "ask_user": decisions.SetAsk}
	if r.set = sets[decision.text]; r.set == "" {
		return &fileError{at: t.at(decision.line), err: fmt.Errorf("%q is not allow, deny or ask_user", decision.show())}
	}
	names, ok := n.get("toolName").list()
	prefixes, ok2 := n.get("commandPrefix").list()
	if !ok || !ok2 {
		return &fileError{at: r.at, err: fmt.Errorf("toolName and commandPrefix are texts or lists of texts")}
	}
	server := ""
	if s := n.get("mcpName"); s != nil {
		server = s.text
	}
	matches, names := geminiMatches(n, server, names, prefixes)
	if p := n.get("argsPattern"); p != nil {
		only = append(only, geminiArguments(matches, p, r.set == decisions.SetAllow)...)
		names = append(names, "argsPattern "+p.text)
	}
	r.text = strings.TrimSpace(strings.Join(names, " ") + ": " + decision.text)
	if server != "" {
		r.text = server + " " + r.text
	}
	r.condition = strings.Join(slices.Compact(only), " and ")
	for _, m := range matches {
		one := r
		one.m = m
		t.add(one)
	}
	return nil
}

// geminiConditions reads the members of a rule that restrict when it applies,
// and returns a description of those that cannot be translated.
func (t *translator) geminiConditions(n *node, r *rule) ([]string, error) {
	known := []string{"toolName", "mcpName", "commandPrefix", "commandRegex", "argsPattern", "decision", "priority", "modes", "interactive",
		"allowRedirection", "allow_redirection", "denyMessage", "deny_message", "subagent", "toolAnnotations", "description"}
	var only []string
	for _, m := range n.members {
		switch m.name {
		case "interactive":
			only = append(only, map[bool]string{true: "with a person there", false: "with nobody there"}[m.value.kind == 't'])
		case "subagent":
			only = append(only, "for the sub-agent "+m.value.show())
		case "toolAnnotations":
			only = append(only, "for tools that say so of themselves")
		case "modes":
			modes, _ := m.value.list()
			if !slices.Contains(modes, "default") || !slices.Contains(modes, "autoEdit") || !slices.Contains(modes, "yolo") {
				only = append(only, "in the modes "+strings.Join(modes, ", "))
			}
		case "denyMessage", "deny_message":
			r.message = m.value.text
		case "priority":
			p, err := strconv.ParseFloat(m.value.text, 64)
			if err != nil || p < -1e6 || p > 1e6 {
				return nil, &fileError{at: t.at(m.line), err: fmt.Errorf("%q is no priority", m.value.show())}
			}
			r.rank = int(p * 1000)
		default:
			if !slices.Contains(known, m.name) {
				only = append(only, "where "+m.name+" is "+m.value.show())
				t.otherKey(m, nil)
			}
		}
	}
	return only, nil
}

// geminiMatches returns the matches of a rule and how it names them.
func geminiMatches(n *node, server string, names, prefixes []string) ([]match, []string) {
	var matches []match
	switch {
	case len(prefixes) > 0:
		for _, p := range prefixes {
			matches = append(matches, runPrefix(strings.TrimSpace(p)))
		}
		names = []string{"commandPrefix " + strings.Join(prefixes, ", ")}
	case n.get("commandRegex") != nil:
		matches = append(matches, commandRegexp(n.get("commandRegex").text, false, false, true))
		names = []string{"commandRegex " + n.get("commandRegex").text}
	case server != "":
		if len(names) == 0 {
			names = []string{"*"}
		}
		for _, name := range names {
			name = strings.TrimPrefix(strings.TrimPrefix(name, "mcp_"+server+"_"), server+"__")
			if server == "*" && name == "*" {
				matches = append(matches, wholeArea(toolArea))
				continue
			}
			matches = append(matches, geminiServerTool(server, name, "mcp_"+server+"_"+name))
		}
	default:
		if len(names) == 0 {
			names = []string{"*"}
		}
		for _, name := range names {
			matches = append(matches, geminiArea(name))
			if name != "*" {
				for _, n := range matchNames(name, "run_shell_command", "read_file", "write_file", "web_fetch") {
					matches = append(matches, geminiArea(n))
				}
			}
		}
	}
	return matches, names
}

// geminiArguments narrows matches to calls whose input matches an expression.
// Where it cannot, it returns that as a condition.
func geminiArguments(matches []match, p *node, allow bool) (only []string) {
	re, command := strings.CutPrefix(strings.Trim(p.text, "/"), `"command":"`)
	for i, m := range matches {
		if m.area == runArea && command && m.all {
			if end, ok := strings.CutSuffix(re, `"`); ok {
				re = end + "$"
			}
			matches[i] = commandRegexp(re, false, false, true)
		} else if src := strings.Trim(p.text, "/"); m.area == runArea && m.all && !strings.Contains(src, `"`) {
			matches[i] = commandRegexp(src, false, true, false)
			if plain, _ := withoutLookaround(src); matches[i].bodies != nil {
				// The expression also tests the tool's other input.
				matches[i].bodies = append(matches[i].bodies, body("input.effect.shell == true", regoText("(?s)"+plain, "json.marshal(input.call.raw)")))
			}
			if allow {
				matches[i] = inexpressible(matches[i], NotWords, "write a commandPrefix for each command that you mean", "the expression may match anywhere in the input")
			}
		} else {
			only = append(only, "where the input matches "+p.text)
		}
	}
	return only
}
