package imports

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/lazy"
)

// Claude Code: permissions.allow, ask and deny hold Tool or Tool(specifier).
// Deny precedes ask, which precedes allow, however specific they are, and the
// lists of all files are merged.

// claudeOther lists settings that do not concern permissions.
var claudeOther = []string{"$schema", "env", "model", "cleanupPeriodDays", "includeCoAuthoredBy", "includeGitInstructions", "outputStyle", "statusLine",
	"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "forceLoginMethod", "forceLoginOrgUUID", "spinnerTipsEnabled", "alwaysThinkingEnabled",
	"language", "theme", "verbose", "autoUpdatesChannel", "attribution", "companyAnnouncements", "otelHeadersHelper", "plansDirectory", "effortLevel",
	"respectGitignore", "enabledPlugins", "extraKnownMarketplaces", "fileSuggestion", "showTurnDuration", "prefersReducedMotion", "tui", "voiceEnabled"}

func (t *translator) claude(f File) error {
	doc, err := parseJSONC(f)
	if err != nil {
		return err
	}
	if doc.kind != '{' {
		return &fileError{at: t.at(doc.line), err: typeError("object", doc)}
	}
	for _, m := range doc.members {
		switch m.name {
		case "permissions":
			if err := t.claudePermissions(m.value); err != nil {
				return err
			}
		case "hooks":
			t.leaveOut(m.line, m.name, Elsewhere, "let a hook ask permd instead", "hooks are programs; what they would say is not known")
		case "sandbox":
			t.leaveOut(m.line, m.name, Elsewhere, "keep it: a sandbox holds what a judgement cannot", "permd judges calls and builds no sandbox")
		case "enableAllProjectMcpServers", "enabledMcpjsonServers", "disabledMcpjsonServers", "allowedMcpServers", "deniedMcpServers":
			t.leaveOut(m.line, m.name, Elsewhere, "list the tools of these servers under use", "it says which servers start, not what their tools may do")
		case "autoMode", "skipDangerousModePermissionPrompt", "skipAutoPermissionPrompt", "disableAllHooks", "allowManagedHooksOnly",
			"allowManagedPermissionRulesOnly", "disableAutoMode", "useAutoModeDuringPlan":
			t.mode(m.line, m.name, "it belongs to "+Claude.Name()+"'s own modes", "profile in permd.toml says what permd allows by itself")
		default:
			t.otherKey(m, claudeOther)
		}
	}
	return nil
}

func (t *translator) claudePermissions(n *node) error {
	if n.kind != '{' {
		return &fileError{at: t.at(n.line), err: typeError("object", n)}
	}
	for _, m := range n.members {
		switch m.name {
		case "allow", "ask", "deny":
			if m.value.kind != '[' {
				return &fileError{at: t.at(m.line), err: typeError("list", m.value)}
			}
			for _, item := range m.value.items {
				if item.kind != '"' {
					return &fileError{at: t.at(item.line), err: typeError("text", item)}
				}
				t.claudeRule(decisions.Set(m.name), item)
			}
		case "defaultMode":
			t.claudeMode(m)
		case "additionalDirectories":
			t.leaveOut(m.line, m.name, Elsewhere, "allow the folders under read and write", "these folders count as the project's for %s only", Claude.Name())
		case "disableBypassPermissionsMode", "disableAutoMode":
			t.mode(m.line, m.name, "permd asks before an agent widens its own permissions, whatever this says", "")
		default:
			t.otherKey(m, nil)
		}
	}
	return nil
}

func (t *translator) claudeMode(m member) {
	var why, instead string
	switch m.value.text {
	case "default", "manual":
		why, instead = "it asks for what no rule allows", `profile = "careful" comes nearest`
	case "acceptEdits":
		why, instead = "it lets files be edited without asking", `profile = "balanced" does so in the project`
	case "plan":
		why, instead = "it only looks", `profile = "careful" comes nearest`
	case "auto":
		why, instead = "it lets a model decide; permd does not", `profile = "balanced" comes nearest`
	case "dontAsk":
		why, instead = "it denies what no rule allows", `profile = "unattended" rejects what it would ask`
	case "bypassPermissions":
		why, instead = "it allows everything; permd has no such profile, and this import widens nothing", `profile = "balanced" comes nearest`
	default:
		t.note(Note{At: t.at(m.line), Text: m.name + ": " + m.value.show(), Outcome: Unknown, Why: "permd does not know this mode"})
		return
	}
	t.mode(m.line, m.name+": "+m.value.text, why, instead)
}

// claudeParameter is a specifier that names a parameter of Bash instead of a
// command.
var claudeParameter = lazy.Regexp(`^(command|description|timeout|run_in_background|dangerouslyDisableSandbox):`)

var claudeForm = lazy.Regexp(`(?s)^([A-Za-z0-9_*.:-]+)(?:\((.*)\))?$`)

func (t *translator) claudeRule(set decisions.Set, item *node) {
	r := rule{at: t.at(item.line), text: item.text, set: set}
	form := claudeForm().FindStringSubmatch(item.text)
	if form == nil {
		t.claudeUnread(r, "it is not in the form Tool or Tool(specifier)")
		return
	}
	name, spec := form[1], form[2]
	if name != "*" && set != decisions.SetAllow {
		for _, n := range matchNames(name, "Bash", "Read", "Edit", "WebFetch", "Task", "Agent") {
			one := *item
			one.text = n + strings.TrimPrefix(item.text, name)
			t.claudeRule(set, &one)
		}
	}
	bare := !strings.HasSuffix(item.text, ")") || spec == "" || spec == "*" || spec == "**"
	switch {
	case strings.HasPrefix(name, "mcp__"):
		r.m = claudeServer(name)
		if !bare {
			r.condition = "with these arguments"
		}
	case name == "*":
		r.m = wholeArea(anyArea)
		if set == decisions.SetAllow {
			r.m = inexpressible(r.m, Everything, "allow what you mean", "it allows everything")
		}
	case strings.Contains(name, "*"):
		r.m = tool("", name)
	case name == "Bash" || name == "PowerShell" || name == "Monitor":
		r.m = wholeArea(runArea)
		if !bare {
			r.m = claudeCommand(spec)
		}
		if claudeParameter().MatchString(spec) {
			r.m, r.condition = wholeArea(runArea), "with "+spec
		}
	case slices.Contains([]string{"Read", "Glob", "Grep", "LS", "NotebookRead"}, name):
		r.m = wholeArea(readArea)
		if !bare {
			r.m = t.claudePath(readArea, []effects.Kind{effects.KindRead}, spec, set)
		}
	case slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit"}, name):
		r.m = wholeArea(editArea)
		if !bare {
			kinds := []effects.Kind{effects.KindWrite}
			if set != decisions.SetAllow {
				kinds = append(kinds, effects.KindDelete)
			}
			r.m = t.claudePath(editArea, kinds, spec, set)
		}
		if !bare && name != "Edit" {
			if set == decisions.SetAllow {
				r.m = inexpressible(r.m, Broken, "write Edit("+spec+")", "%s looks at Edit(…) and Read(…) alone, so this rule allows nothing there", Claude.Name())
			} else {
				r.remark = Claude.Name() + " itself looks at Edit(…) alone, so there it says nothing"
			}
		}
	case name == "WebFetch":
		r.m = wholeArea(fetchArea)
		if domain, ok := strings.CutPrefix(spec, "domain:"); ok {
			r.m = claudeDomain(strings.TrimSpace(domain))
		} else if !bare {
			r.condition = "for " + spec
		}
	case name == "Task" || name == "Agent":
		// Both are names of the same tool.
		r.m = tool("", "Task")
		other := tool("", "Agent")
		r.m.lines, r.m.bodies = append(r.m.lines, other.lines...), append(r.m.bodies, other.bodies...)
		r.m.decides = anyOf(r.m.decides, other.decides)
		if !bare {
			r.condition = "for " + spec
		}
	default:
		r.m = tool("", name)
		if !bare {
			r.condition = "for " + spec
		}
	}
	if set != decisions.SetAllow && strings.HasPrefix(spec, "!") {
		t.note(Note{At: r.at, Text: r.text, Outcome: LeftOut, Reason: NoPattern,
			Why: "it takes something out of another rule; without it that rule covers more"})
		return
	}
	if set == decisions.SetAllow && strings.HasPrefix(spec, "!") {
		// Tools that an allow leaves out must stay left out.
		var kind effects.Kind
		switch r.m.area {
		case readArea:
			kind = effects.KindRead
		case editArea:
			kind = effects.KindWrite
		case anyArea, runArea, deleteArea, fetchArea, toolArea:
		}
		r.set, r.remark = decisions.SetAsk, "it takes something out of an allow, so permd asks for it"
		r.m = t.claudePath(r.m.area, []effects.Kind{kind}, spec[1:], decisions.SetAsk)
	}
	t.add(r)
}

// claudeUnread handles rules that cannot be read: they must not end up weaker
// than they were.
func (t *translator) claudeUnread(r rule, why string) {
	if r.set != decisions.SetDeny {
		t.note(Note{At: r.at, Text: r.text, Outcome: LeftOut, Reason: Broken, Why: why})
		return
	}
	name, _, _ := strings.Cut(r.text, "(")
	areas := map[string]area{"Bash": runArea, "Read": readArea, "Edit": editArea, "Write": editArea, "WebFetch": fetchArea}
	a, ok := areas[name]
	if !ok {
		t.note(Note{At: r.at, Text: r.text, Outcome: LeftOut, Reason: Broken, Why: why})
		return
	}
	r.set, r.m, r.remark = decisions.SetAsk, wholeArea(a), why
	t.add(r)
}

// claudeCommand reads the specifier of Bash: words, with * for any text; a
// final :* is the same as a space and *.
func claudeCommand(spec string) match {
	spec = strings.TrimSpace(spec)
	if head, ok := strings.CutSuffix(spec, ":*"); ok {
		spec = head + " *"
	}
	return runGlob(spec)
}

// claudeServer reads mcp__server, mcp__server__* and mcp__server__tool.
func claudeServer(name string) match {
	server, toolName, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	if !ok {
		toolName = "*"
	}
	if server == "*" || server == "" {
		if toolName == "*" {
			return wholeArea(toolArea)
		}
		return tool("*", toolName)
	}
	return tool(server, toolName)
}

// claudeDomain reads a domain; *. matches all its subdomains.
func claudeDomain(domain string) match {
	if domain == "*" || domain == "" {
		return wholeArea(fetchArea)
	}
	return hosts([]string{domain}, !strings.Contains(strings.TrimPrefix(domain, "*."), "*"), "(?is)^"+globRegexp(domain)+"$")
}

// claudePath reads a pattern in the style of .gitignore: //x is relative to the
// root of the file system, ~/x to home, /x to the settings' folder, and
// everything else to the folder where Claude Code was started, taken to be the
// project's root.
func (t *translator) claudePath(a area, kinds []effects.Kind, spec string, set decisions.Set) match {
	spec = strings.TrimSpace(spec)
	type place struct {
		base pattern.Base
		glob string
	}
	var places []place
	switch {
	case strings.HasPrefix(spec, "//"):
		places = []place{{pattern.Root, strings.TrimLeft(spec, "/")}}
	case strings.HasPrefix(spec, "~/"):
		places = []place{{pattern.Home, spec[2:]}}
	case strings.HasPrefix(spec, "/"):
		if t.project != "" || t.o.Everywhere {
			places = []place{{pattern.Project, spec[1:]}}
			break
		}
		// For a person's own settings some versions read it from their folder,
		// others from the project: an allow takes the first, a deny both.
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(t.file)), "/")
		places = []place{{pattern.Root, joinPattern(dir, spec)}}
		if set != decisions.SetAllow {
			places = append(places, place{pattern.Project, spec[1:]})
		}
	default:
		glob := strings.TrimPrefix(spec, "./")
		if !strings.Contains(strings.TrimSuffix(glob, "/"), "/") && glob == spec {
			glob = "**/" + glob // a name by itself, at any depth
		}
		places = []place{{pattern.Project, glob}}
		if set != decisions.SetAllow && strings.HasPrefix(glob, "**/") {
			// Claude Code may have been started in any folder.
			places = append(places, place{pattern.Root, glob})
		}
	}
	var lines []string
	var tests []pathTest
	var failed error
	for _, p := range places {
		glob := strings.TrimSuffix(p.glob, "/")
		globs := []string{glob}
		if !strings.HasSuffix(glob, "**") && !strings.Contains(filepath.Base(glob), ".") || glob != p.glob {
			globs = append(globs, glob+"/**") // a folder stands for its contents
		}
		for _, g := range globs {
			l, x, err := pathGlob(p.base, g, "[^/]*")
			if err != nil {
				failed = err
			}
			lines, tests = append(lines, l...), append(tests, x...)
		}
	}
	m := paths(a, kinds, lines, tests, failed == nil)
	if failed != nil {
		m.untranslatable = &untranslatable{NoPattern, failed.Error(), "write the paths out, or a rule in Rego"}
	}
	return m
}
