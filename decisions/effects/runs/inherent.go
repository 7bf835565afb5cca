package runs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/git"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/obeys"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/wordset"
)

// implicitEffects adds the effects of the program that no word names.
func (v *invocation) implicitEffects() {
	list := v.p.Inherent
	if v.paths == 0 {
		list = append(slices.Clip(list), v.p.Implicit...)
	}
	for _, e := range list {
		if (len(e.With) == 0 || v.has(e.With)) && !v.has(e.Unless) {
			v.implicitEffect(e)
		}
	}
	if v.p.Repository {
		if v.foreign = git.Foreign(&v.b.Collector, v.run.Cwd); v.foreign != "" {
			v.tree = v.otherTree()
			if v.tree == "" {
				v.b.Unknown(v.at.From, v.foreign)
				v.changes = true
			}
		}
		v.repositorySecrets()
	}
}

// otherTree returns the working tree of another repository whose configuration can be looked
// at as if it were the project's, "" if there is none or the run does more than look.
func (v *invocation) otherTree() string {
	if !v.p.Readonly || v.changes || v.b.Remote {
		return ""
	}
	return git.Elsewhere(&v.b.Collector, v.run.Cwd)
}

// looksElsewhere adds the read of the repository that a run of git looks at, unless that is the
// project's: of its history and its files, whichever the words name. A run that does more
// than look obeys what nothing is known of.
func (v *invocation) looksElsewhere() {
	switch {
	case !v.p.Repository:
		return
	case !v.run.Readonly:
		if v.tree != "" {
			v.b.Unknown(v.at.From, v.foreign)
		}
		return
	}
	tree := v.tree
	if tree == "" {
		where, at := v.b.Paths.Folder(v.run.Cwd)
		if where.Has(effects.InProject) || where.Has(effects.Worktree) || v.printsOwnInfo() {
			return
		}
		around := obeys.Surroundings(&v.b.Collector)
		tree = cmp.Or(around.TreeAbove(at), at)
	}
	e := v.b.Operand(effects.KindRead, tree, "", v.at.From)
	if len(v.subs) > 0 && git.PrintsTracked(v.subs[0]) {
		v.b.Paths.Recurse(&e, false)
	} else {
		v.b.Paths.RecurseTracked(&e)
	}
	// An allow of the run is none of what is read: a line for git log says nothing of where.
	e.Via = &effects.Via{Effect: v.index, Arg: 0}
	v.b.Add(e)
}

// repositorySecrets adds the reads of secrets that git prints from its own data.
func (v *invocation) repositorySecrets() {
	if len(v.subs) == 0 || v.run.Program != "git" {
		return
	}
	r := v.ofGit()
	r.Secrets()
}

// ofGit returns a run of a sub-command of git.
func (v *invocation) ofGit() git.Run {
	return git.Run{
		Call: &v.b.Collector, Sub: v.subs[0], Args: v.args, Flags: v.flags, Operands: v.operands, Dashes: v.dashes, Unparsed: v.unparsed,
		Cwd: v.run.Cwd, Tree: v.tree, From: v.at.From, Into: wordEffects{v},
	}
}

// wordEffects adds effects of the words of an invocation.
type wordEffects struct{ v *invocation }

func (w wordEffects) Add(i int, e effects.Effect)      { w.v.b.Add(w.v.via(i, e)) }
func (w wordEffects) SetAside(i int, e effects.Effect) { w.v.setAside(i, e) }
func (w wordEffects) Unknown(i int, why string)        { w.v.unknown(i, why) }
func (w wordEffects) Full() bool                       { return w.v.full() }

// readonly decides whether the run is known to change nothing.
func (v *invocation) readonly() {
	p := v.p
	ok := p.Readonly && !v.changes && !v.rewrites()
	if ok && p.ReadonlyOperands >= 0 && len(v.operands) > p.ReadonlyOperands && !v.has(p.ReadonlyWith) {
		ok = false
	}
	ok = ok || v.checksSyntax() || v.printsOwnInfo()
	if !ok {
		v.run.Does = v.does()
	}
	if ok {
		v.obeyed = obeys.Run{Call: &v.b.Collector, Program: v.p, Run: v.run, Args: v.args, Operands: v.operands}
		file := v.obeyed.Project()
		if file == "" {
			file = v.obeyed.Shim()
		}
		if file != "" {
			ok = false
			v.changes = true
			v.b.Unknown(v.at.From, "obeys "+display.Display(file)+", which says, or may say, more than is known to be harmless")
		}
	}
	v.run.Readonly = ok
	v.run.OwnData = !ok && v.ownData()
	v.looksElsewhere()
	v.reformats()
	switch {
	case ok || p.Changing == "":
	case len(v.args) == 0:
		v.b.Unknown(v.at.From, p.Changing)
	default:
		arg := 0
		if len(v.operands) > 0 {
			arg = v.operands[0]
		}
		v.unknown(arg, p.Changing)
	}
}

// bySettings are the programs whose choices are bound to what the project's files say, as far
// as their settings do not change with what that is run. What others obey is code of the
// project like the rest, and docker compose is bound to the files that it obeys.
var bySettings = wordset.Fields("npm npx pnpm pnpx yarn bun bunx cargo")

// unbound says why an answer about the run cannot be bound to what decides what it does.
func (v *invocation) unbound() {
	if v.run.Readonly || v.run.Cwd == "" || v.b.Remote {
		return
	}
	v.obeyed = obeys.Run{Call: &v.b.Collector, Program: v.p, Run: v.run, Args: v.args, Operands: v.operands}
	file := v.obeyed.Shim()
	if file == "" && v.p != nil && bySettings.Has(v.run.Program) {
		file = v.obeyed.Settings()
	}
	if file != "" && v.run.Unbound == "" {
		v.run.Unbound = "it obeys " + display.Display(file) + ", which says, or may say, more than is known to be harmless"
	}
}

// ownData decides whether all that the run changes is the program's own data. What could
// make it do more is no defect here: such a run only asks, as any other that changes
// something.
func (v *invocation) ownData() bool {
	p := v.p
	if !p.OwnData || v.changes || p.Unknown != "" || v.run.Program != "git" || len(v.subs) == 0 {
		return false
	}
	r := v.ofGit()
	change, ok := r.OwnChange()
	if !ok {
		if change.Odd != "" {
			v.run.Does = "stages " + display.Display(change.Odd)
		}
		return false
	}
	v.obeyed = obeys.Run{Call: &v.b.Collector, Program: p, Run: v.run, Args: v.args, Operands: v.operands}
	change.Objects = v.b.Objects
	if v.obeyed.Project() != "" || v.obeyed.Shim() != "" || v.obeyed.OnlyOwnData(&change) != "" {
		return false
	}
	v.b.Objects += len(change.Files)
	if change.Commits {
		v.b.Objects += 2 // the commit, and the folder's tree
	}
	return true
}

// rewrites reports whether the run puts files into the program's own format.
func (v *invocation) rewrites() bool { return v.p.Reformats && v.has(v.p.WritesWith) }

// reformats decides whether all that the run does is to put files into its own format, and
// says so of the run and of what it writes.
func (v *invocation) reformats() {
	p := v.p
	if !v.rewrites() || v.changes || p.Unknown != "" {
		return
	}
	if !v.unclear && !v.ownSelection() && (!v.followsLinks() || p.SkipsLinkedFolders) && !slices.ContainsFunc(v.args, func(w effects.Word) bool { return w.Tree }) {
		v.b.SpareRules(v.index, p.Opens, v.followsLinks())
	}
	v.obeyed = obeys.Run{Call: &v.b.Collector, Program: p, Run: v.run, Args: v.args, Operands: v.operands}
	if v.has(p.ReformatsNot) || v.obeyed.Project() != "" || v.obeyed.Shim() != "" {
		return
	}
	var files []*effects.File
	for i := range v.b.Effects[v.index:] {
		e := &v.b.Effects[v.index+i]
		if e.Kind != effects.KindWrite || e.File == nil || e.Via == nil || e.Via.Effect != v.index {
			continue
		}
		// A folder may hold further names of files that lie elsewhere.
		mode, err := v.b.FS.Lstat(e.File.Path)
		switch {
		case err != nil || !mode.IsRegular():
		case !v.ofLanguage(e.File.Path):
			return
		default:
			files = append(files, e.File)
		}
	}
	v.run.Reformats = true
	for _, f := range files {
		f.Reformatted = true
	}
}

// shells are the programs that a script names in its first line.
var shells = wordset.Fields("sh bash dash ksh mksh zsh bats")

// ofLanguage reports whether a regular file is certainly one of the formatter's language: by
// the end of its name, or, for a formatter of scripts, if the name has no dot, by its first line.
// A formatter puts any file that it is given into the format of its language, and spoils one of
// another language which it can read by accident.
func (v *invocation) ofLanguage(file string) bool {
	ends := slices.DeleteFunc(slices.Clone(v.p.Opens), func(end string) bool { return end == "" })
	named := len(ends) > 0 && paths.HasEnd(file, ends)
	if len(ends) == len(v.p.Opens) {
		return named
	}
	if !named && !paths.HasEnd(file, v.p.Opens) || v.b.ChangedBefore(v.index, file) || v.b.Rearranges(file) {
		return named
	}
	data, err := v.b.FS.ReadFile(file, maxObject)
	program, script := languages.Interpreter(string(data))
	if err != nil || !script {
		return named
	}
	return shells.Has(program)
}

// onlyChanges takes back that the run only reformats.
func (v *invocation) onlyChanges() {
	v.run.Reformats = false
	for i := range v.b.Effects {
		if e := &v.b.Effects[i]; e.File != nil && e.Via != nil && e.Via.Effect == v.index {
			e.File.Reformatted = false
		}
	}
}

// printsOwnInfo reports whether the run only asks about the program itself, such as its
// version.
func (v *invocation) printsOwnInfo() bool {
	return len(v.args) == 1 && len(v.subs) == 0 && len(v.operands) == 0 && !v.changes && len(v.flags) == 1 &&
		slices.Contains(v.p.ReadonlyAlone, v.flags[0])
}

// checksSyntax reports whether a shell only reads a script (bash -n).
func (v *invocation) checksSyntax() bool {
	if v.p.Interpreter != "shell" || len(v.operands) == 0 || !v.has([]string{"-n"}) || v.harms.from > v.operands[0]+1 {
		return false
	}
	for _, f := range v.flags {
		if !slices.Contains([]string{"-n", "-e", "-u", "-v", "-x"}, f) {
			return false
		}
	}
	// +n would undo the option.
	return strings.Trim(v.args[v.operands[0]].Text, "+-") == v.args[v.operands[0]].Text && v.args[v.operands[0]].Text != ""
}

// standardInput handles an interpreter without a script: it runs its standard input.
func (v *invocation) standardInput() {
	if v.run.Script != nil || v.has([]string{"--version", "--help"}) {
		return
	}
	for _, f := range v.flags {
		if o := v.p.Options[f]; o != nil && (o.Role == programs.RoleInline || o.Role == programs.RoleModule) {
			return
		}
	}
	if len(v.operands) > 0 && !StandardInputs[v.args[v.operands[0]].Text] {
		return
	}
	if v.at.Stdin == effects.StdinText && v.p.Interpreter == "shell" && v.at.Text != effects.DynamicWord {
		v.b.Unknown(v.at.From, "code given inline")
		quiet := v.b.Nothing
		v.b.WithShells(v.shells(len(v.args)), func() { v.b.texts.Text(v.b, v.at.Text, v.run.Cwd, v.at.From) })
		v.b.Nothing = quiet
		v.run.Readonly = false
		return
	}
	v.b.Unknown(v.at.From, "an interpreter that runs what it reads")
	v.run.Readonly = false
	if v.p.Interpreter == "shell" && v.at.Stdin == effects.StdinPipe && v.at.Printed != "" {
		v.b.AddLikely(v.at.Printed, v.run.Cwd, v.at.From)
	}
}

// StandardInputs are the names of a program's standard input.
var StandardInputs = map[string]bool{"-": true, "/dev/stdin": true, "/dev/fd/0": true, "/proc/self/fd/0": true}

// AddLikely adds the effects of shell text that probably runs. An Unknown effect for it
// has already been added.
func (b *Builder) AddLikely(text, cwd, from string) {
	quiet := b.Nothing
	b.WithShells(plainshell.All, func() { b.texts.Text(b, text, cwd, from) })
	b.Nothing = quiet
}

// implicitEffect adds one effect that no word names.
func (v *invocation) implicitEffect(e programs.ImplicitEffect) {
	own := &effects.Via{Effect: v.index, Arg: effects.Inherent}
	tree := v.p.Recursive || v.has(v.p.RecursiveWith) || e.Value == "/"
	kind := effects.KindRead
	switch e.Role {
	case programs.RoleReads, programs.RoleLists:
	case programs.RoleWrites:
		kind = effects.KindWrite
	case programs.RoleDeletes:
		kind, tree = effects.KindDelete, true
	case programs.RoleConnects, programs.RoleSends:
		method := effects.MethodGet
		if e.Role == programs.RoleSends || v.send {
			method = effects.MethodSend
		}
		if e.Sometimes {
			v.b.Paths.MayConnect(e.Value, method, v.at.From)
			return
		}
		switch e.Value {
		case "cluster", "database", "cloud":
			// Its address is in configuration that permd does not read.
			v.b.Add(effects.Effect{
				Kind: effects.KindConnect, From: v.at.From, Text: "connect to the " + e.Value, Connect: &effects.Connect{Method: method}, Via: own,
			})
			return
		}
		if e.Value != "remote" {
			found := v.b.Paths.Connect(e.Value, method, v.at.From)
			found.Via = own
			v.b.Add(found)
			return
		}
		reached := slices.ContainsFunc(v.b.Effects[v.index:], func(e effects.Effect) bool {
			return e.Kind == effects.KindConnect && e.Via != nil && e.Via.Effect == v.index
		})
		if !reached {
			v.namedRemote("", method)
		}
		return
	default:
		v.b.Unknown(v.at.From, "an effect that permd does not know")
		return
	}
	found := v.below(v.b.Operand(kind, e.Value, v.run.Cwd, v.at.From), tree, e.Role == programs.RoleLists)
	found.Via = own
	v.b.Add(found)
}
