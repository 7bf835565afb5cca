package imports

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// VS Code: maps of patterns to true or false. False means that a person must
// approve, and precedes true. VS Code adds rules of its own, which are not in
// the file.

func (t *translator) vscode(f File) error {
	doc, err := parseJSONC(f)
	if err != nil {
		return err
	}
	if doc.kind != '{' {
		return &fileError{at: t.at(doc.line), err: typeError("object", doc)}
	}
	off := doc.get("chat.tools.terminal.enableAutoApprove")
	others := 0
	for _, m := range doc.members {
		switch m.name {
		case "chat.tools.terminal.autoApprove", "github.copilot.chat.agent.terminal.allowList", "github.copilot.chat.agent.terminal.denyList":
			err = t.vscodeTerminal(m, off != nil && off.kind == 'f')
		case "chat.tools.edits.autoApprove":
			err = t.vscodeEach(m, t.vscodeEdit)
		case "chat.tools.urls.autoApprove":
			err = t.vscodeEach(m, t.vscodeURL)
		case "chat.tools.eligibleForAutoApproval":
			err = t.vscodeEach(m, t.vscodeEligible)
		case "chat.tools.autoApprove", "chat.tools.global.autoApprove":
			if m.value.kind == 't' {
				t.mode(m.line, m.name+": true", "it approves everything; permd has no such profile, and this import widens nothing", `profile = "balanced" comes nearest`)
			}
		case "chat.permissions.default":
			t.mode(m.line, m.name+": "+m.value.show(), "how much the agent may do by itself is permd's profile", `profile = "balanced" comes nearest, for autopilot too`)
		case "chat.tools.terminal.enableAutoApprove":
			t.mode(m.line, m.name+": "+m.value.show(), "it switches the rules for commands on and off", "")
		case "chat.tools.terminal.autoApproveWorkspaceNpmScripts":
			if m.value.kind == 't' {
				t.leaveOut(m.line, m.name, Targets, "name the scripts: allow run: [\"npm run build\"]", "it allows whatever scripts the project defines")
			}
		case "chat.tools.terminal.ignoreDefaultAutoApproveRules", "chat.tools.terminal.blockDetectedFileWrites", "chat.agent.sandbox.enabled":
			t.leaveOut(m.line, m.name+": "+m.value.show(), Elsewhere, "", "permd judges files and programs of a command by rules of their own")
		default:
			if strings.HasPrefix(m.name, "chat.tools.") || strings.HasPrefix(m.name, "chat.permissions.") || strings.HasPrefix(m.name, "chat.agent.sandbox") {
				t.otherKey(m, nil)
				continue
			}
			others++
		}
		if err != nil {
			return err
		}
	}
	if others > 0 {
		t.note(Note{At: t.at(0), Text: fmt.Sprintf("%d other settings", others), Outcome: Remark, Why: "they say nothing of permissions"})
	}
	return nil
}

func (t *translator) vscodeEach(m member, each func(member) error) error {
	if m.value.kind != '{' {
		return &fileError{at: t.at(m.line), err: typeError("object", m.value)}
	}
	for _, e := range m.value.members {
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

// vscodeValue reads true, false or null, or one of these under a key.
func (t *translator) vscodeValue(m member, key string) (set decisions.Set, more *node, err error) {
	v := m.value
	if v.kind == '{' {
		more = v
		if v = v.get(key); v == nil {
			return "", nil, &fileError{at: t.at(m.line), err: fmt.Errorf("there is no %s", key)}
		}
	}
	switch v.kind {
	case 't':
		return decisions.SetAllow, more, nil
	case 'f':
		return decisions.SetAsk, more, nil
	case 'n':
		return "", more, nil
	}
	return "", nil, &fileError{at: t.at(m.line), err: typeError("true or false", v)}
}

func (t *translator) vscodeTerminal(m member, off bool) error {
	return t.vscodeEach(m, func(e member) error {
		set, more, err := t.vscodeValue(e, "approve")
		if err != nil {
			return err
		}
		whole := false
		if more != nil {
			for _, k := range more.members {
				switch k.name {
				case "approve":
				case "matchCommandLine":
					whole = k.value.kind == 't'
				default:
					t.otherKey(k, nil)
				}
			}
		}
		if strings.HasSuffix(m.name, ".denyList") && set == decisions.SetAllow {
			set = decisions.SetAsk
		}
		if set == "" {
			t.note(Note{At: t.at(e.line), Text: e.name + ": null", Outcome: Remark, Why: "it takes back a rule of other settings, which are not read here"})
			return nil
		}
		r := rule{at: t.at(e.line), text: fmt.Sprintf("%s: %v", e.name, set == decisions.SetAllow), set: set, m: vscodeCommand(e.name, whole, set)}
		if off && set == decisions.SetAllow {
			r.m = inexpressible(r.m, Broken, "", "chat.tools.terminal.enableAutoApprove is false, so it allows nothing there")
		}
		t.add(r)
		return nil
	})
}

// vscodeCommand reads a pattern of commands: /expression/flags, or a prefix of
// a command. whole says that the whole line is compared.
func vscodeCommand(text string, whole bool, set decisions.Set) match {
	ignored := func(why string) match {
		m := match{area: runArea, untranslatable: &untranslatable{Broken, why, ""}, decides: func(*Item) bool { return false }}
		return m
	}
	if src, ok := strings.CutPrefix(text, "/"); ok {
		if end := strings.LastIndexByte(src, '/'); end >= 0 && strings.Trim(src[end+1:], "dgimsuvy") == "" {
			flags, src := src[end+1:], src[:end]
			plain, _ := withoutLookaround(src)
			re, err := regexp.Compile(plain)
			if err != nil {
				return unreadable(runArea, err)
			}
			if re.MatchString("") && plain == src {
				return ignored("VS Code ignores an expression that matches no text at all")
			}
			if strings.Contains(flags, "m") {
				src = "(?m)" + src
			}
			return commandRegexp(src, strings.Contains(flags, "i"), whole && set != decisions.SetAllow, false)
		}
	}
	if strings.TrimSpace(text) == "" {
		return ignored("VS Code ignores an empty pattern")
	}
	words := strings.ReplaceAll(text, `\`, "/")
	re := "(?s)^" + regexp.QuoteMeta(words) + `(\b|\s|$)`
	if whole && set == decisions.SetAllow {
		// Only the whole line is compared, so the rest of it is covered there.
		return runs(re, false, []string{words + " *"}, true)
	}
	return runs(re, whole, []string{words + " *"}, true)
}

func (t *translator) vscodeEdit(e member) error {
	set, _, err := t.vscodeValue(e, "approve")
	if err != nil || set == "" {
		return err
	}
	r := rule{at: t.at(e.line), text: fmt.Sprintf("edits %s: %v", e.name, set == decisions.SetAllow), set: set}
	if e.name == "**" || e.name == "**/*" {
		r.m = wholeArea(editArea)
		if set == decisions.SetAsk {
			// The catch-all of the map: more specific patterns precede it.
			r.rank = -1
		}
		t.add(r)
		return nil
	}
	base, glob := pattern.Project, strings.TrimPrefix(e.name, "./")
	switch {
	case strings.HasPrefix(glob, "~/"):
		base, glob = pattern.Home, glob[2:]
	case strings.HasPrefix(glob, "/"):
		base, glob = pattern.Root, strings.TrimLeft(glob, "/")
	}
	kinds := []effects.Kind{effects.KindWrite}
	if set != decisions.SetAllow {
		kinds = append(kinds, effects.KindDelete)
	}
	lines, tests, failed := pathGlob(base, glob, "[^/]*")
	r.m = paths(editArea, kinds, lines, tests, failed == nil)
	if failed != nil {
		r.m.untranslatable = &untranslatable{NoPattern, failed.Error(), "write the paths out"}
	}
	t.add(r)
	return nil
}

func (t *translator) vscodeURL(e member) error {
	set, more, err := t.vscodeValue(e, "approveRequest")
	if err != nil || set == "" {
		return err
	}
	r := rule{at: t.at(e.line), text: fmt.Sprintf("url %s: %v", e.name, set == decisions.SetAllow), set: set, m: urlGlob(e.name)}
	if more != nil && more.get("approveResponse") != nil {
		r.remark = "permd judges the request; what comes back is the client's"
	}
	t.add(r)
	return nil
}

// urlGlob is the match of addresses by a pattern with * in host and path.
func urlGlob(glob string) match {
	scheme, rest, ok := strings.Cut(glob, "://")
	if !ok {
		scheme, rest = "", glob
	}
	host, p, _ := strings.Cut(rest, "/")
	if host == "*" || host == "" || strings.Trim(glob, "*/:") == "" {
		return wholeArea(fetchArea)
	}
	re := "(?is)^" + globRegexp(scheme) + "://" + globRegexp(host)
	if scheme == "" || scheme == "*" {
		re = "(?is)^[a-z]+://" + globRegexp(host)
	}
	re += "(:[0-9]+)?(/" + globRegexp(strings.TrimSuffix(p, "*")) + ".*)?$"
	if p == "" {
		re = strings.TrimSuffix(re, "$") + "$"
	}
	m := hosts([]string{host}, p == "" || p == "*" || p == "**", re)
	// A deny of one path becomes one of the host.
	if !m.exact {
		m.lines, m.exact = nil, false
		m.untranslatable = &untranslatable{NoPattern, "a list compares hosts and no paths", "allow the host under connect, if you mean all of it"}
		m.bodies = m.bodies[:1]
		m.bodies = append(m.bodies, body(kindIs(effects.KindConnect), `input.effect.url == ""`,
			regoText("(?is)^"+globRegexp(host)+"$", "input.effect.host")))
	}
	return m
}

func (t *translator) vscodeEligible(e member) error {
	set, _, err := t.vscodeValue(e, "approve")
	if err != nil || set != decisions.SetAsk {
		return err
	}
	r := rule{at: t.at(e.line), text: e.name + ": false", set: set}
	switch {
	case slices.Contains([]string{"runInTerminal", "run_in_terminal"}, e.name):
		r.m = wholeArea(runArea)
	case slices.Contains([]string{"fetch", "fetchWebPage", "fetch_webpage"}, e.name):
		r.m = wholeArea(fetchArea)
	case slices.Contains([]string{"editFiles", "createFile", "edit", "insert_edit_into_file", "create_file"}, e.name):
		r.m = wholeArea(editArea)
	default:
		r.m = tool("", e.name)
	}
	t.add(r)
	return nil
}
