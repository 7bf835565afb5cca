package tools

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/shell"
	"github.com/permd/permd/internal/strictjson"
)

// apply adds the effects of an input of the shape.
func (t *tool) apply(s *shape, o strictjson.Object, from string) {
	fs := t.facts(s, o, from)
	t.checkAgreement(fs)
	cwd := t.folder(fs, s.runs())
	verb := t.verb(fs)
	have := t.each(s, fs, cwd, verb)
	if s.whole && !have.has(roleTree) {
		n := len(t.Effects)
		t.tree(".", cwd, "cwd")
		t.addSearched(n)
		return
	}
	if len(s.needs) > 0 && !slices.ContainsFunc(s.needs, have.has) {
		t.addMissing("the input lacks what the tool works on")
	}
}

// roles is a set of roles.
type roles uint32

func (r roles) has(x role) bool { return r&(1<<x) != 0 }

// each adds the effects of the facts and returns the roles that occurred.
func (t *tool) each(s *shape, fs []fact, cwd string, verb verb) roles {
	var have roles
	before := len(t.Effects)
	defer func(shells plainshell.Shells) { t.Shells = shells }(t.Shells)
	t.Shells = t.namedShell(fs)
	for _, f := range fs {
		have |= 1 << f.role
		switch f.role {
		case roleCommand, roleArgv:
			t.commandFact(s, f, cwd)
		case roleCommands, roleDerived:
			t.commandList(s, f, fs, cwd)
		case roleShell:
			t.shellProgram(f)
		case roleTyped:
			if requestsAnything(f.val) {
				t.Unknown(f.from, "the text is typed at a program that already runs")
			}
		case roleFeed:
			t.feed(f)
		case roleCode:
			t.Unknown(f.from, "code of a language that is not read")
		case roleRead:
			t.files(s, f, cwd, effects.KindRead)
		case roleTree:
			if !globbed(fs) {
				for _, g := range t.texts(f, s) {
					t.treeText(g, cwd)
				}
			}
		case roleGlob:
			t.glob(f, fs, cwd)
		case roleWrite:
			t.files(s, f, cwd, effects.KindWrite)
		case roleDelete:
			t.markRecursive(t.files(s, f, cwd, effects.KindDelete))
		case roleTouch:
			t.touch(s, f, cwd, verb)
		case roleFrom:
			t.files(s, f, cwd, effects.KindRead)
			t.files(s, f, cwd, effects.KindDelete)
		case roleConnect:
			t.connectFact(s, f)
		case roleHost:
			t.host(f)
		case roleText:
			t.addresses(f)
		case rolePatch:
			t.patchFact(f, cwd)
		case roleChanges:
			t.changes(f, cwd)
		case roleItems:
			t.items(s, f, cwd)
		case roleFilter:
			t.filter(s, f)
		case roleGrant:
			t.grant(f)
		case roleNone, roleIgnore:
		case roleCwd, roleVerb: // of them the other members' effects are made
		}
	}
	if have.has(roleFrom) {
		t.markMoved(before)
	}
	return have
}

// checkAgreement finds members of the same role with different values: the person may be shown
// one and the tool may use the other.
func (t *tool) checkAgreement(fs []fact) {
	for i, f := range fs {
		if !slices.Contains([]role{roleCommand, roleArgv, roleCwd, roleRead, roleTree, roleWrite, roleDelete, roleTouch, roleConnect, roleGlob}, f.role) {
			continue
		}
		for _, g := range fs[:i] {
			if g.role != f.role || f.role == roleTouch && t.use >= 0 {
				continue
			}
			if f.role != roleCommand && (strictjson.Kind(f.val) == '[' || strictjson.Kind(g.val) == '[') {
				continue
			}
			a, isText := strictjson.ParseString(f.val)
			b, isText2 := strictjson.ParseString(g.val)
			if !isText || !isText2 || a != b {
				t.defect(effects.DefectContradiction, f.from, "two members that mean the same say different things")
			}
		}
	}
}

// folder returns where the tool works: the input's own folder, else the session's, which a
// persistent shell may have left.
func (t *tool) folder(fs []fact, runs bool) string {
	cwd := t.cwd
	if runs && t.Call.LiveShell {
		cwd = ""
	}
	for _, f := range fs {
		if f.role != roleCwd {
			continue
		}
		given, ok := strictjson.ParseString(f.val)
		if !ok {
			t.malformed(f.from, "the folder is "+strictjson.KindName(strictjson.Kind(f.val))+", not text")
			return ""
		}
		if given == "" {
			continue
		}
		t.checkHidden(given, f.from)
		if runs && t.readByDeclaration() && given[0] != '/' && (t.Call.LiveShell || len(t.Call.Folders) > 0) {
			return "" // it may start where earlier calls left the shell
		}
		if given == t.Call.Cwd && given != "" {
			cwd = given
			continue
		}
		e := t.Paths.File(effects.KindRead, given, t.Call.Cwd, f.from)
		if e.File == nil {
			t.Add(e)
			return ""
		}
		cwd = e.File.Path
	}
	return cwd
}

// commandFact adds the effects of shell text or of an argument vector.
func (t *tool) commandFact(s *shape, f fact, cwd string) {
	if t.tooMany(&t.commands, maxToolCommands) {
		return
	}
	if text, ok := strictjson.ParseString(f.val); ok && f.role != roleArgv {
		if t.from == t.adapterFrom && t.p.shellPrefix {
			// Outside of the input the command includes its wrapper.
			if args, ok := plainWords(text); ok {
				if inner, ok := unwrapShell(args); ok {
					t.WithShells(plainshell.Named(args[0]), func() { t.command(inner, cwd, f.from) })
					return
				}
			}
		}
		t.command(text, cwd, f.from)
		return
	}
	args, ok := argvOf(f.val)
	if !ok {
		t.malformed(f.from, "the command is neither text nor a list of words")
		return
	}
	for _, a := range args {
		t.checkHidden(a, f.from)
	}
	if t.p.shellPrefix && s.name == "codex_shell" {
		if text, ok := unwrapShell(args); ok {
			t.WithShells(plainshell.Named(args[0]), func() { t.command(text, cwd, f.from) })
			return
		}
		if len(args) == 2 && (args[0] == "apply_patch" || args[0] == "applypatch") {
			t.patch(args[1], cwd, f.from)
			return
		}
	}
	shell.Argv(t.Builder, args, cwd, f.from)
	joined := strings.Join(args, " ")
	_, wrapped := unwrapShell(args) // joined, its commands would be the same but the first, which would lose its words
	switch words, ok := plainWords(joined); {
	case ok && slices.Equal(words, args), f.role == roleArgv, t.use < 0 && !s.declared && (t.p.argv || t.p == unknownAgent):
		// A list that an agent sends is what it executes, as far as is known.
		t.otherAsText = t.otherAsText || !ok || !slices.Equal(words, args)
	case t.use < 0:
		// An agent that sends its commands as text may join the words for its shell.
		t.defect(effects.DefectContradiction, f.from, "the command is a list of words, which as text would be another command")
	case !wrapped:
		// Nobody knows whether somebody else's tool joins them.
		n := len(t.Effects)
		shell.Text(t.Builder, joined, cwd, f.from)
		t.asText = append(t.asText, [2]int{n, len(t.Effects)})
	}
}

// unwrapShell returns the text of a command that its harness wraps in the agent's own shell;
// the wrapper is irrelevant, since the harness adds it to every command.
func unwrapShell(args []string) (string, bool) {
	if len(args) != 3 || args[1] != "-lc" && args[1] != "-c" {
		return "", false
	}
	switch args[0] {
	case "bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/sh", "/usr/bin/zsh":
		return args[2], true
	}
	return "", false
}

// plainWords returns the words of a simple command without anything that a
// shell would expand, redirect or assign.
func plainWords(text string) ([]string, bool) {
	script, refusal := plainshell.Read(text, plainshell.All)
	if refusal != nil {
		return nil, false
	}
	return script.Words(text)
}

// command adds the effects of shell text.
func (t *tool) command(text, cwd, from string) {
	t.text = text
	t.shellTexts++
	if strings.TrimSpace(text) == "" {
		t.addMissing("the command is empty")
		return
	}
	t.checkHidden(text, from)
	shell.Text(t.Builder, text, cwd, from)
}

// commandList adds the effects of a list of commands. A derived list repeats or splits the
// command of another member.
func (t *tool) commandList(s *shape, f fact, all []fact, cwd string) {
	list := t.texts(f, s)
	for _, other := range all {
		if other.role != roleCommand {
			continue
		}
		full, _ := strictjson.ParseString(other.val)
		same := len(list) == 1
		for _, g := range list {
			text, _ := strictjson.ParseString(g.val)
			same = same && text == full
		}
		if same {
			return
		}
		if f.role != roleDerived {
			t.defect(effects.DefectContradiction, f.from, "two members that mean the same say different things")
		}
	}
	if len(list) == 0 {
		t.addMissing("the list of commands is empty")
	}
	n := t.shellTexts
	for _, g := range list {
		t.commandFact(s, fact{name: g.name, from: g.from, role: roleCommand, val: g.val}, cwd)
	}
	if f.role == roleDerived {
		t.shellTexts = n
	}
}

// namedShell returns the shell that a member names for the input's shell text, or the
// agent's own if there is none.
func (t *tool) namedShell(fs []fact) plainshell.Shells {
	shells := t.Shells
	for i, f := range fs {
		if f.role != roleShell {
			continue
		}
		name, ok := strictjson.ParseString(f.val)
		switch {
		case ok && name == "":
		case !ok || systemShells[name] == 0 || slices.ContainsFunc(fs[:i], func(g fact) bool { return g.role == roleShell }):
			shells = plainshell.NotRead
		default:
			shells = systemShells[name]
		}
	}
	return shells
}

// systemShells are the shells by their names and usual paths.
var systemShells = map[string]plainshell.Shells{
	"bash": plainshell.Bash, "/bin/bash": plainshell.Bash, "/usr/bin/bash": plainshell.Bash,
	"sh": plainshell.Sh, "/bin/sh": plainshell.Sh, "/usr/bin/sh": plainshell.Sh,
	"zsh": plainshell.Zsh, "/bin/zsh": plainshell.Zsh, "/usr/bin/zsh": plainshell.Zsh,
}

// shellProgram handles the program that is to read the shell text.
func (t *tool) shellProgram(f fact) {
	name, ok := strictjson.ParseString(f.val)
	switch {
	case !ok:
		t.malformed(f.from, "the shell is "+strictjson.KindName(strictjson.Kind(f.val))+", not text")
	case name != "" && systemShells[name] == 0:
		t.Unknown(f.from, "the text is for a shell that is not read")
	}
}

// feed adds the effects of text that is typed at a running program. The program is not
// known; for denies the text is read as shell text. Empty text only reads the output.
func (t *tool) feed(f fact) {
	text, ok := strictjson.ParseString(f.val)
	if !ok {
		t.malformed(f.from, "the text is "+strictjson.KindName(strictjson.Kind(f.val))+", not text")
		return
	}
	if text == "" || text == "\x03" { // Ctrl-C only stops
		return
	}
	t.Unknown(f.from, "the text is typed at a program that already runs")
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		shell.Text(t.Builder, text, "", f.from)
	}
}
