package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/rego"
)

// The corpus has test cases of other permission systems with their rules. It is
// used for measuring only and never copied.
const corpus = "../../../shared/corpus/peer-cases.jsonl"

type corpusCase struct {
	// Peer is the word of the corpus for the tool whose settings they are; Tool is what
	// is called.
	ID, Peer, Mode, Command, Tool, Shell, OS string
	MCPServer                                string `json:"mcp_server"`
	Input                                    json.RawMessage
	Rules                                    json.RawMessage
	NonInteractive                           bool `json:"non_interactive"`
	Accept                                   []string
}

type corpusRule struct {
	Kind, Pattern, Match, Permission, Decision, Tool string
	Value                                            json.RawMessage
	ArgsRegex                                        string `json:"args_regex"`
	CommandPrefix                                    string `json:"command_prefix"`
	MCPServer                                        string `json:"mcp_server"`
	Priority                                         float64
	Modes                                            []string
	Interactive                                      *bool
	Annotations                                      map[string]any
	AllowRedirection                                 bool `json:"allow_redirection"`
}

type corpusRules struct {
	Allow, Ask, Deny []corpusRule
	Default          string
	Ordered          []corpusRule `json:"ordered_last_match_wins"`
	Priority         []corpusRule `json:"ordered_by_priority"`
	Mode             string
	NonInteractive   bool `json:"non_interactive"`
	CallAnnotations  any  `json:"call_annotations"`
}

// settings writes the rules of a case as the tool's own settings file. why is the
// reason if there is no such file.
func (c *corpusCase) settings(r *corpusRules) (tool Tool, name, text, why string) {
	obj := func(v any) string { b, _ := json.MarshalIndent(v, "", " "); return string(b) }
	value := func(p corpusRule) (s string) { _ = json.Unmarshal(p.Value, &s); return s }
	switch c.Peer {
	case "zed":
		toolName := "terminal"
		if c.Tool == "EditFile" {
			toolName = "edit_file"
		}
		list := func(rules []corpusRule) (out []map[string]string) {
			for _, p := range rules {
				out = append(out, map[string]string{"pattern": value(p)})
			}
			return out
		}
		def := map[string]string{"ask": "confirm", "allow": "allow", "deny": "deny"}[r.Default]
		tools := map[string]any{"always_allow": list(r.Allow), "always_deny": list(r.Deny), "always_confirm": list(r.Ask), "default": def}
		for k, v := range tools {
			if l, ok := v.([]map[string]string); ok && l == nil {
				delete(tools, k)
			}
		}
		return Zed, "settings.json", obj(map[string]any{"agent": map[string]any{"tool_permissions": map[string]any{"tools": map[string]any{toolName: tools}}}}), ""
	case "vscode":
		m := map[string]any{}
		for _, s := range []struct {
			rules   []corpusRule
			approve bool
		}{{r.Allow, true}, {r.Ask, false}} {
			for _, p := range s.rules {
				if _, twice := m[p.Pattern]; twice {
					return VSCode, "", "", "the same pattern stands twice"
				}
				m[p.Pattern] = map[string]any{"approve": s.approve, "matchCommandLine": p.Match == "whole command line"}
			}
		}
		return VSCode, "settings.json", obj(map[string]any{"chat.tools.terminal.autoApprove": m}), ""
	case "opencode":
		var b strings.Builder
		b.WriteString("{\"permission\": {")
		done := map[string]bool{}
		for i, p := range r.Ordered {
			if done[p.Permission] {
				continue
			}
			done[p.Permission] = true
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%q: {", p.Permission)
			n := 0
			for _, q := range r.Ordered {
				if q.Permission == p.Permission {
					if n > 0 {
						b.WriteString(", ")
					}
					n++
					fmt.Fprintf(&b, "%q: %q", q.Pattern, q.Decision)
				}
			}
			b.WriteString("}")
		}
		b.WriteString("}}")
		return OpenCode, ".config/opencode/opencode.json", b.String(), ""
	case "codex":
		var b strings.Builder
		for _, s := range []struct {
			rules    []corpusRule
			decision string
		}{{r.Allow, "allow"}, {r.Ask, "prompt"}, {r.Deny, "forbidden"}} {
			for _, p := range s.rules {
				fmt.Fprintf(&b, "prefix_rule(pattern = %s, decision = %q)\n", p.Value, s.decision)
			}
		}
		return Codex, "default.rules", b.String(), ""
	case "gemini-cli":
		var b strings.Builder
		for _, p := range r.Priority {
			decision := map[string]string{"allow": "allow", "deny": "deny", "ask": "ask_user"}[p.Decision]
			fmt.Fprintf(&b, "[[rule]]\ndecision = %q\npriority = %v\n", decision, p.Priority)
			if p.Tool != "" {
				fmt.Fprintf(&b, "toolName = %q\n", p.Tool)
			}
			if p.MCPServer != "" {
				fmt.Fprintf(&b, "mcpName = %q\n", p.MCPServer)
			}
			if p.CommandPrefix != "" {
				fmt.Fprintf(&b, "commandPrefix = %q\n", p.CommandPrefix)
			}
			if p.ArgsRegex != "" {
				fmt.Fprintf(&b, "argsPattern = '%s'\n", p.ArgsRegex)
			}
			if p.Modes != nil {
				fmt.Fprintf(&b, "modes = [%q]\n", strings.Join(p.Modes, `", "`))
			}
			if p.Interactive != nil {
				fmt.Fprintf(&b, "interactive = %v\n", *p.Interactive)
			}
			if p.AllowRedirection {
				b.WriteString("allowRedirection = true\n")
			}
			if p.Annotations != nil {
				b.WriteString("toolAnnotations = { readOnlyHint = true }\n")
			}
		}
		return Gemini, "policy.toml", b.String(), ""
	}
	return "", "", "", "no importer"
}

// call returns the case's call as an agent would send it to permd.
func (c *corpusCase) call(t *testing.T) (name, input string) {
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	if c.Command != "" && (c.Tool == "" || c.Tool == "run_shell_command" || c.Tool == "shell") {
		return "Bash", `{"command":` + quote(c.Command) + `}`
	}
	var in struct{ Pattern, Value, File string }
	if len(c.Input) > 0 {
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatal(err)
		}
	}
	path := in.Pattern + in.Value + in.File
	if !strings.HasPrefix(path, "/") {
		path = project + "/" + path
	}
	switch c.Tool {
	case "edit", "EditFile", "write":
		return "Write", `{"file_path":` + quote(path) + `}`
	case "read":
		return "Read", `{"file_path":` + quote(path) + `}`
	}
	if rest, ok := strings.CutPrefix(c.Tool, "mcp_"); ok && c.Peer == "gemini-cli" {
		if server, toolName, ok := strings.Cut(rest, "_"); ok {
			return "mcp__" + server + "__" + toolName, `{}`
		}
	}
	return c.Tool, `{}`
}

// classOf returns why permd is stricter than a tool, "" if no known reason fits.
func classOf(c *corpusCase, r *corpusRules, im *Import, d *decisions.Decision) string {
	refused := map[Reason]bool{}
	for _, n := range im.Notes {
		if n.Outcome == LeftOut || n.Outcome == Narrower || n.Outcome == Asks || n.Outcome == Wider {
			refused[n.Reason] = true
		}
	}
	open := map[string]bool{} // kinds of effects that nothing allowed
	deniedBy, askedBy := false, false
	for _, e := range d.Effects {
		if e.Verdict != decisions.Allow {
			open[string(e.Kind)] = true
		}
		for _, rule := range e.Rules {
			if rule.Layer == decisions.User {
				deniedBy = deniedBy || e.Verdict == decisions.Deny
				askedBy = askedBy || e.Verdict == decisions.Ask
			}
		}
	}
	if r.Mode != "" && r.Mode != "default" || r.NonInteractive || r.CallAnnotations != nil || refused[Condition] {
		return "a rule that holds in some cases only asks always, or allows nothing"
	}
	if r.Default == "allow" || c.Peer == "codex" && r.Default == "allow" {
		return "the tool allows what no rule names; that is not imported"
	}
	if c.Shell != "" && c.Shell != "bash" && c.Shell != "zsh" || c.OS == "Windows" {
		return "another shell, which permd reads as a POSIX one"
	}
	switch {
	case refused[Everything]:
		return "an allow of everything is not imported"
	case refused[Interpreter], refused[Wrapper]:
		return "an allow of an interpreter or wrapper is not imported"
	case refused[Targets]:
		return "an allow of whatever targets a project has is not imported"
	case refused[NotWords], refused[NoPattern]:
		return "a pattern that spells out no words allows nothing"
	case open["unknown"]:
		return "a part of the command cannot be known"
	case open["write"] || open["delete"]:
		return "the command changes files, which its rule does not say"
	case open["connect"]:
		return "the command reaches a host, which its rule does not say"
	case open["read"]:
		return "the command reads a file, which its rule does not say"
	case open["state"]:
		return "the command changes what later ones mean"
	case refused[Loose] && open["run"]:
		return "an expression that ends or begins within a word covers whole words alone"
	case deniedBy || askedBy:
		return "a deny or ask covers more than the tool's"
	case open["run"], refused[NotKnown]:
		return "further words are covered only where permd knows them to be harmless"
	case open["use"]:
		return "a tool of another name"
	}
	return ""
}

// TestCorpus writes the rules of the corpus as the tools' own files, imports them,
// and compares permd's verdicts with the tool's, for a sample of the rules and all of their
// cases. permd may be stricter for a known
// reason, and never more permissive.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it imports the whole corpus")
	}
	data, err := os.ReadFile(filepath.FromSlash(corpus))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpus of other systems' test cases is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	type score struct {
		rows, agree, withBase, stricter, asks, looser, skipped int
		classes                                                map[string]int
	}
	type imported struct {
		im           *Import
		n            int
		dir          string
		plain, whole *world
	}
	type row struct {
		c corpusCase
		r corpusRules
		k *imported
		// settings are the tool's own.
		settings string
	}
	known := map[string]*imported{}
	scores := map[string]*score{}
	var rows []row
	for line := range strings.Lines(string(data)) {
		var c corpusCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Mode != "rules" {
			continue
		}
		var r corpusRules
		if err := json.Unmarshal(c.Rules, &r); err != nil {
			continue // a form of a tool that is not imported
		}
		tool, name, text, why := c.settings(&r)
		if tool == "" {
			continue
		}
		if scores[c.Peer] == nil {
			scores[c.Peer] = &score{classes: map[string]int{}}
		}
		if why != "" {
			scores[c.Peer].skipped++
			continue
		}
		k := known[name+text]
		if k == nil {
			im := translate(t, tool, home+"/"+name, text)
			k = &imported{im: im, n: len(known), dir: folder(t, im)}
			known[name+text] = k
		}
		rows = append(rows, row{c, r, k, text})
	}
	// Compiling a tool's rules takes most of the time.
	some := map[*imported]bool{}
	tools := map[*imported]string{}
	for _, row := range rows {
		tools[row.k] = row.c.Peer
	}
	sets := slices.SortedFunc(maps.Keys(tools), func(a, b *imported) int { return a.n - b.n })
	for _, k := range testload.SampleOf(t, len(sets)/4, sets, func(k *imported) string { return tools[k] }) {
		some[k] = true
	}
	for _, row := range rows {
		if !some[row.k] {
			continue
		}
		c, r, k, im, text := &row.c, &row.r, row.k, row.k.im, row.settings
		s := scores[c.Peer]
		s.rows++
		if k.plain == nil {
			k.plain = openWorld(t, im, k.dir, nil)
			if testing.Verbose() { // to be read only
				k.whole = openWorld(t, im, k.dir, rego.Base())
			}
		}
		tool, input := c.call(t)
		d := k.plain.call(t, tool, input, project)
		if k.whole != nil && slices.Contains(c.Accept, string(k.whole.call(t, tool, input, project).Verdict)) {
			s.withBase++
		}
		if slices.Contains(c.Accept, string(d.Verdict)) {
			s.agree++
			continue
		}
		mildest := decisions.Deny
		for _, a := range c.Accept {
			if decisions.Stricter(mildest, decisions.Verdict(a)) == mildest {
				mildest = decisions.Verdict(a)
			}
		}
		if d.Verdict == decisions.Ask && mildest == decisions.Deny {
			switch {
			case slices.ContainsFunc(im.Notes, func(n Note) bool { return n.Outcome == Asks }):
				s.asks++ // as a note of the import says
				continue
			case r.Default == "deny" || r.NonInteractive || c.NonInteractive:
				s.asks++ // the tool's own default, which is no setting
				continue
			}
		}
		if decisions.Stricter(d.Verdict, mildest) != d.Verdict {
			s.looser++
			t.Errorf("%s: permd is looser: %s instead of %v\n%s\nsettings:\n%s", c.ID, d.Verdict, c.Accept, input, text)
			for _, f := range im.Files {
				t.Logf("-- %s --\n%s", f.Name, f.Text)
			}
			continue
		}
		s.stricter++
		why := classOf(c, r, im, d)
		if why == "" {
			t.Errorf("%s: %s instead of %v, for no known reason\n%s\nsettings:\n%s", c.ID, d.Verdict, c.Accept, input, text)
		}
		s.classes[why]++
	}
	for tool, s := range scores {
		t.Logf("%s: %d rows, %d agree (%d with the whole base layer), %d stricter, %d ask where the tool denies by a condition or by default, %d looser, %d not to be written as settings", tool, s.rows, s.agree, s.withBase, s.stricter, s.asks, s.looser, s.skipped)
		for why, n := range s.classes {
			t.Logf("    %3d  %s", n, why)
		}
	}
	if len(scores) != 5 {
		t.Errorf("%d tools have cases", len(scores))
	}
}
