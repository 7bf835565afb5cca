package main

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// peerRules are the rules of another system, in one of several forms.
type peerRules struct {
	Allow    []peerRule       `json:"allow"`
	Deny     []peerRule       `json:"deny"`
	Ask      []peerRule       `json:"ask"`
	Default  string           `json:"default"`
	First    []peerRule       `json:"ordered_first_match_wins"`
	Last     []peerRule       `json:"ordered_last_match_wins"`
	Priority []peerRule       `json:"ordered_by_priority"`
	Mode     strictjson.Value `json:"mode"`
	Notes    strictjson.Value `json:"call_annotations"`
	Alone    strictjson.Value `json:"non_interactive"`
}

// peerRule is one rule. Which members it has shows its form.
type peerRule struct {
	Kind     string           `json:"kind"`
	Value    strictjson.Value `json:"value"` // a string, or words with alternatives
	Flags    []string         `json:"flags"`
	Pattern  string           `json:"pattern"`
	Decision string           `json:"decision"`
	// For agentsh.
	Commands []string         `json:"commands"`
	Args     strictjson.Value `json:"args_patterns"`
	// For opencode.
	Permission string `json:"permission"`
	// For gemini-cli.
	Tool        string           `json:"tool"`
	Server      string           `json:"mcp_server"`
	Prefix      strictjson.Value `json:"command_prefix"`
	Priority    float64          `json:"priority"`
	ArgsRegex   strictjson.Value `json:"args_regex"`
	Modes       strictjson.Value `json:"modes"`
	Interactive strictjson.Value `json:"interactive"`
	Annotations strictjson.Value `json:"annotations"`
	Redirection strictjson.Value `json:"allow_redirection"`
	// For others.
	Field   string `json:"field"`
	Exclude string `json:"exclude"`
	Match   string `json:"match"`
}

// translatePeer translates a row's rules. It returns false if they have no simple
// translation: conditions that permd does not have, regular expressions over a
// command's text, an order in which a milder rule overrides a stricter one.
func translatePeer(r *peerRow) (*draft, bool) {
	var rules peerRules
	if strictjson.Unmarshal(r.Rules, &rules) != nil || rules.Mode != nil || rules.Notes != nil || rules.Alone != nil {
		return nil, false
	}
	d := new(draft)
	ordered := slices.Clone(rules.First)
	switch {
	case rules.Last != nil:
		ordered = slices.Clone(rules.Last)
		slices.Reverse(ordered)
	case rules.Priority != nil:
		ordered = slices.Clone(rules.Priority)
		slices.SortStableFunc(ordered, func(a, b peerRule) int { return cmp.Compare(b.Priority, a.Priority) })
	}
	for i := range ordered {
		v, ok := verdictOf(ordered[i].Decision)
		if !ok || i > 0 && strictness(v) > strictness(decisions.Verdict(ordered[i-1].Decision)) || !ordered[i].write(d, v) {
			return nil, false
		}
	}
	for v, list := range map[decisions.Verdict][]peerRule{decisions.Allow: rules.Allow, decisions.Ask: rules.Ask, decisions.Deny: rules.Deny} {
		for i := range list {
			if !list[i].write(d, v) {
				return nil, false
			}
		}
	}
	switch rules.Default {
	case "allow":
		d.everything()
	case "deny":
		// permd asks what no rule matches, which is safe for a default of deny. A
		// system that has only denies allows the rest.
		if rules.First != nil {
			denyOthers(d)
		}
	}
	return d, true
}

func verdictOf(s string) (decisions.Verdict, bool) {
	v := decisions.Verdict(s)
	return v, strictness(v) >= 0
}

func strictness(v decisions.Verdict) int {
	return slices.Index([]decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Deny}, v)
}

// denyOthers denies all programs that no allow names.
func denyOthers(d *draft) {
	names := "{"
	for _, line := range d.lines[decisions.Allow][effects.KindRun] {
		names += text(strings.Fields(line)[0]) + ", "
	}
	names += `""}`
	d.rule("deny", "only some programs may run", `input.effect.kind == "run"`, "not input.effect.program in "+names, "not input.effect.executable in "+names)
}

// simple matches a regular expression that only says which words a command begins
// with.
var simple = regexp.MustCompile(`^\^([\w./-]+(?:(?: |\\s\+?)[\w./-]+)*)(?:\\b|\\s\+?| )?$`)

// write adds a rule to a draft, and reports whether it has a translation.
func (p *peerRule) write(d *draft, v decisions.Verdict) bool {
	if p.ArgsRegex != nil || p.Modes != nil || p.Annotations != nil || p.Interactive != nil || p.Redirection != nil ||
		p.Args != nil || p.Field != "" || p.Exclude != "" {
		return false
	}
	value, _ := strictjson.ParseString(p.Value)
	switch {
	case p.Commands != nil:
		for _, c := range p.Commands {
			if strings.ContainsAny(c, "*?[ ") {
				return false
			}
			p.program(d, v, c, strings.Contains(c, "/"))
		}
		return true
	case p.Permission != "":
		return p.permission(d, v)
	case p.Decision != "":
		return p.geminiTool(d, v)
	}
	switch p.Kind {
	case "command-name", "prefix":
		return words(d, v, value, true)
	case "command-prefix":
		return words(d, v, p.Pattern, true)
	case "glob":
		prefix, ok := strings.CutSuffix(value, " *")
		return words(d, v, prefix, ok)
	case "regex":
		expr := cmp.Or(p.Pattern, value)
		if inner, ok := strings.CutPrefix(expr, "/"); ok { // as JavaScript spells it
			expr = strings.TrimSuffix(inner, "/")
		}
		m := simple.FindStringSubmatch(expr)
		return m != nil && words(d, v, strings.NewReplacer(`\s+`, " ", `\s`, " ").Replace(m[1]), true)
	case "argv-prefix", "argv":
		return p.argv(d, v)
	case "any":
		return false
	}
	return false
}

// words adds the line of a command's first words.
func words(d *draft, v decisions.Verdict, command string, more bool) bool {
	fields := strings.Fields(command)
	if len(fields) == 0 || strings.ContainsAny(command, `*?[]{}$\|;&<>()"'`) {
		return false
	}
	if more {
		fields = append(fields, "*")
	}
	d.line(v, effects.KindRun, strings.Join(fields, " "))
	return true
}

// program adds the line of a program.
func (p *peerRule) program(d *draft, v decisions.Verdict, name string, byPath bool) {
	if byPath && v == decisions.Deny {
		name = path.Base(name) // denying a program denies its name
	}
	d.line(v, effects.KindRun, name+" *")
}

// argv adds the lines for words that may each have alternatives.
func (p *peerRule) argv(d *draft, v decisions.Verdict) bool {
	parts, err := strictjson.ParseArray(p.Value)
	if err != nil {
		return false
	}
	lines := []string{""}
	for _, part := range parts {
		one, ok := strictjson.ParseString(part)
		choices := []string{one}
		if !ok {
			list, err := strictjson.ParseArray(part)
			if err != nil {
				return false
			}
			choices = nil
			for _, c := range list {
				s, _ := strictjson.ParseString(c)
				choices = append(choices, s)
			}
		}
		var next []string
		for _, l := range lines {
			for _, c := range choices {
				next = append(next, strings.TrimSpace(l+" "+c))
			}
		}
		lines = next
	}
	for _, l := range lines {
		if !words(d, v, strings.Join(append([]string{l}, p.Flags...), " "), true) {
			return false
		}
	}
	return true
}

// permission adds a rule of opencode: a tool and a glob of its argument.
func (p *peerRule) permission(d *draft, v decisions.Verdict) bool {
	if p.Permission != "bash" && p.Permission != "*" {
		return false
	}
	if p.Pattern == "*" {
		if p.Permission == "bash" && v == decisions.Allow {
			d.rule("allow", "all commands", `input.effect.kind == "run"`)
			return true
		}
		return v == decisions.Ask // which is what permd does by itself
	}
	prefix, more := strings.CutSuffix(p.Pattern, " *")
	return words(d, v, prefix, more)
}

// geminiTool adds a rule of gemini-cli: about a tool, or the words of its command.
func (p *peerRule) geminiTool(d *draft, v decisions.Verdict) bool {
	shell := p.Tool == "run_shell_command" || p.Tool == "shell"
	switch {
	case p.Prefix != nil:
		prefix, ok := strictjson.ParseString(p.Prefix)
		return ok && shell && words(d, v, prefix, true)
	case shell && v == decisions.Ask:
		return true // which is what permd does by itself
	case shell:
		d.rule(string(v), "all commands", `input.effect.kind == "run"`)
		return true
	case p.Server != "" && strings.HasSuffix(p.Tool, "*"):
		d.line(v, effects.KindUse, p.Server+":*")
		return true
	case strings.ContainsAny(p.Tool, "*") || p.Tool == "":
		return false
	case p.Server != "":
		d.line(v, effects.KindUse, p.Server+":"+strings.TrimPrefix(p.Tool, "mcp_"+p.Server+"_"))
		return true
	}
	d.line(v, effects.KindUse, p.Tool)
	return true
}
