package imports

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/pattern"
)

// Codex: config.toml, and rules files with prefix_rule. The strictest rule that
// matches decides.

func (t *translator) codex(f File) error {
	if filepath.Ext(f.Name) != ".toml" {
		return t.codexRules(f)
	}
	doc, err := parseTOML(f)
	if err != nil {
		return err
	}
	others := 0
	for _, m := range doc.members {
		switch m.name {
		case "approval_policy":
			t.codexApproval(m)
		case "sandbox_mode", "sandbox_workspace_write", "default_permissions", "permissions":
			why := map[string]string{
				"read-only":          `it lets files be read; profile = "careful" comes nearest`,
				"workspace-write":    `it lets files of the project be changed; profile = "balanced" comes nearest`,
				"danger-full-access": "it allows everything; permd has no such profile, and this import widens nothing"}[m.value.text]
			if why == "" {
				why = "it describes a sandbox, and permd builds none: keep it"
			}
			t.mode(m.line, m.name+": "+m.value.show(), why, "")
		case "approvals_reviewer":
			t.mode(m.line, m.name+": "+m.value.show(), "who answers is permd's matter: its rules, then a person", "")
		case "projects":
			for _, p := range m.value.members {
				t.mode(p.line, fmt.Sprintf("projects.%q", p.name), "trust in a project is permd's own", "")
			}
		case "mcp_servers":
			if err := t.codexServers(m.value); err != nil {
				return err
			}
		case "profiles":
			t.leaveOut(m.line, m.name, Condition, "", "a profile holds only when it is chosen")
		case "features", "apps", "shell_environment_policy", "hooks", "rules":
			t.leaveOut(m.line, m.name, Elsewhere, "", "permd has nothing of this kind")
		default:
			others++
		}
	}
	if others > 0 {
		t.note(Note{At: t.at(0), Text: otherSettings(others), Outcome: Remark, Why: "they say nothing of permissions"})
	}
	return nil
}

func (t *translator) codexApproval(m member) {
	why := map[string]string{
		"untrusted":  `it asks for all but commands that only look; profile = "careful" comes nearest`,
		"on-request": `it asks to leave the sandbox; profile = "balanced" comes nearest`,
		"on-failure": `it asks only when something failed; profile = "balanced" comes nearest`,
		"never":      `it never asks; profile = "unattended" rejects what it would ask, and nothing is widened`}[m.value.text]
	if why == "" {
		why = "permd does not know this policy"
	}
	t.mode(m.line, m.name+": "+m.value.show(), why, "")
}

func (t *translator) codexServers(n *node) error {
	for _, s := range n.members {
		for _, k := range s.value.members {
			text := "mcp_servers." + s.name + "." + k.name
			switch k.name {
			case "disabled_tools":
				names, ok := k.value.list()
				if !ok {
					return &fileError{at: t.at(k.line), err: typeError("list of texts", k.value)}
				}
				for _, name := range names {
					t.add(rule{at: t.at(k.line), text: text + " " + name, set: decisions.SetDeny, m: tool(s.name, name)})
				}
			case "enabled_tools":
				t.leaveOut(k.line, text, Elsewhere, "deny the others under use", "it says which tools are offered, not what they may do")
			case "default_tools_approval_mode":
				t.codexTool(k, text, s.name, "*", -1)
			case "tools":
				for _, tl := range k.value.members {
					for _, a := range tl.value.members {
						if a.name == "approval_mode" {
							t.codexTool(a, text+"."+tl.name+"."+a.name, s.name, tl.name, 0)
							continue
						}
						t.otherKey(member{text + "." + tl.name + "." + a.name, a.line, a.value}, nil)
					}
				}
			}
		}
	}
	return nil
}

func (t *translator) codexTool(k member, text, server, name string, rank int) {
	set, ok := map[string]decisions.Set{"approve": decisions.SetAllow, "prompt": decisions.SetAsk}[k.value.text]
	if !ok {
		t.mode(k.line, text+": "+k.value.show(), "Codex decides by what the tool says of itself; permd asks", "")
		return
	}
	t.add(rule{at: t.at(k.line), text: text + ": " + k.value.text, set: set, m: tool(server, name), rank: rank})
}

var codexSets = map[string]decisions.Set{"": decisions.SetAllow, "allow": decisions.SetAllow, "prompt": decisions.SetAsk,
	"forbidden": decisions.SetDeny, "deny": decisions.SetDeny}

func (t *translator) codexRules(f File) error {
	calls, err := parseStarlark(f)
	if err != nil {
		return err
	}
	known := map[string][]string{
		"prefix_rule":     {"pattern", "decision", "justification", "match", "not_match"},
		"network_rule":    {"host", "protocol", "decision", "justification"},
		"host_executable": {"name", "paths"},
	}
	for _, c := range calls {
		args, ok := known[c.name]
		if !ok {
			return &fileError{at: t.at(c.line), err: fmt.Errorf("permd does not know %s", c.name)}
		}
		for name := range c.args {
			if !slices.Contains(args, name) {
				return &fileError{at: t.at(c.line), err: fmt.Errorf("%s has no argument %s", c.name, name)}
			}
		}
		text := func(name string) string {
			if v := c.args[name]; v != nil {
				return v.text
			}
			return ""
		}
		if c.name == "host_executable" {
			t.leaveOut(c.line, "host_executable "+text("name"), Elsewhere, "", "permd takes a program in a system folder for the one of its name, and any other for its path")
			continue
		}
		set, ok := codexSets[text("decision")]
		if !ok {
			return &fileError{at: t.at(c.line), err: fmt.Errorf("%q is no decision", text("decision"))}
		}
		r := rule{at: t.at(c.line), set: set}
		if set != decisions.SetAllow {
			r.message = text("justification")
		}
		if c.name == "network_rule" {
			r.text = fmt.Sprintf("network_rule %s: %s", text("host"), set)
			r.m = claudeDomain(text("host"))
			t.add(r)
			continue
		}
		words, shown, err := t.codexPattern(c)
		if err != nil {
			return err
		}
		r.text = fmt.Sprintf("prefix_rule %s: %s", shown, set)
		r.m = argvPrefix(words)
		t.add(r)
	}
	return nil
}

// codexPattern reads a pattern: words, each a text or a list of alternatives.
func (t *translator) codexPattern(c starCall) (words [][]string, shown string, err error) {
	p := c.args["pattern"]
	if p == nil || p.kind != '[' || len(p.items) == 0 {
		return nil, "", &fileError{at: t.at(c.line), err: fmt.Errorf("prefix_rule has no pattern")}
	}
	var show []string
	for _, item := range p.items {
		list, ok := item.list()
		if !ok || len(list) == 0 {
			return nil, "", &fileError{at: t.at(item.line), err: fmt.Errorf("a word of the pattern is no text and no list of texts")}
		}
		words = append(words, list)
		show = append(show, strings.Join(list, "|"))
	}
	return words, strings.Join(show, " "), nil
}

// maxArgv bounds the lines that the alternatives of a pattern expand to.
const maxArgv = 128

// argvPrefix returns the match of commands by their first words.
func argvPrefix(words [][]string) match {
	res := make([]string, len(words))
	for i, alternatives := range words {
		quoted := make([]string, len(alternatives))
		for j, a := range alternatives {
			quoted[j] = regexp.QuoteMeta(a)
		}
		res[i] = "(?:" + strings.Join(quoted, "|") + ")"
	}
	re := "(?s)^" + strings.Join(res, `\s+`) + `(\s|$)`
	lists := [][]string{{}}
	for _, alternatives := range words {
		var next [][]string
		for _, l := range lists {
			for _, a := range alternatives {
				next = append(next, append(slices.Clone(l), a))
			}
		}
		if lists = next; len(lists) > maxArgv {
			return inexpressible(runs(re, false, nil, false), NoPattern, "write the words out", "the pattern has more than %d forms", maxArgv)
		}
	}
	var lines []string
	for _, l := range lists {
		r := &pattern.Run{Program: l[0], Rest: true}
		for _, w := range l[1:] {
			r.Words = append(r.Words, pattern.Glob{w})
		}
		lines = append(lines, r.String())
	}
	return runs(re, false, lines, true)
}
