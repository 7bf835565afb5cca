package runs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
)

// argument is a word with its role.
type argument struct {
	role   programs.Role
	i      int // index of the word
	w      effects.Word
	option bool // the word is an option or its value, not an operand
	tree   bool // everything below the path is included
}

// roleHandler is what is done with the words of a role.
type roleHandler struct {
	word wordCheck
	// tree is set if the handler also works for a word that stands for everything below
	// a folder.
	tree bool
	do   func(*invocation, argument)
}

// wordCheck is the set of words that a role accepts. Other words ask.
type wordCheck uint8

const (
	anyWord    wordCheck = iota
	textWord             // known text: no pattern
	knownWord            // known text or a pattern
	singleWord           // known text, no pattern
)

// roleHandlers are indexed by programs.Role. They are filled in by init because
// words of some roles are commands, whose words have roles in turn.
var roleHandlers []roleHandler

func init() {
	v := func(do func(*invocation, int, effects.Word)) func(*invocation, argument) {
		return func(v *invocation, a argument) { do(v, a.i, a.w) }
	}
	withRole := func(do func(*invocation, programs.Role, int, effects.Word)) func(*invocation, argument) {
		return func(v *invocation, a argument) { do(v, a.role, a.i, a.w) }
	}
	none := func(*invocation, argument) {}
	roleHandlers = []roleHandler{
		programs.RoleText:        {textWord, true, none},
		programs.RoleNumber:      {textWord, false, (*invocation).number},
		programs.RoleGuarded:     {textWord, false, (*invocation).guardedText},
		programs.RoleUnfetched:   {textWord, false, (*invocation).unfetched},
		programs.RoleFormat:      {textWord, false, (*invocation).format},
		programs.RolePlain:       {textWord, false, (*invocation).plainText},
		programs.RoleRef:         {textWord, false, (*invocation).ref},
		programs.RoleRefspec:     {textWord, false, (*invocation).refspec},
		programs.RolePackage:     {textWord, false, v((*invocation).goPackage)},
		programs.RoleSed:         {textWord, false, withRole((*invocation).language)},
		programs.RoleAwk:         {textWord, false, withRole((*invocation).language)},
		programs.RoleJQ:          {textWord, false, withRole((*invocation).language)},
		programs.RoleYQ:          {textWord, false, withRole((*invocation).language)},
		programs.RoleGitFormat:   {textWord, false, withRole((*invocation).language)},
		programs.RoleGitSort:     {textWord, false, withRole((*invocation).language)},
		programs.RoleColumns:     {textWord, false, withRole((*invocation).language)},
		programs.RoleGlobs:       {textWord, false, v((*invocation).searchGlob)},
		programs.RoleTypes:       {textWord, false, (*invocation).fileTypes},
		programs.RoleData:        {textWord, false, (*invocation).data},
		programs.RoleRemote:      {textWord, false, v((*invocation).remote)},
		programs.RoleServerSQL:   {textWord, false, (*invocation).serverSQL},
		programs.RoleRunnerWords: {textWord, false, (*invocation).runnerWord},
		programs.RoleForm:        {textWord, false, v((*invocation).form)},
		programs.RoleGoFlags:     {textWord, false, (*invocation).goFlags},
		programs.RoleMethod:      {textWord, false, (*invocation).requestMethod},
		programs.RoleGitConfig:   {textWord, false, (*invocation).gitConfig},

		programs.RoleChanges:    {anyWord, true, (*invocation).change},
		programs.RoleUnknown:    {anyWord, false, (*invocation).notUnderstood},
		programs.RoleCommand:    {anyWord, false, none},
		programs.RoleInline:     {anyWord, false, (*invocation).inline},
		programs.RoleModule:     {anyWord, false, (*invocation).runModule},
		programs.RoleTool:       {anyWord, false, v((*invocation).tool)},
		programs.RoleTarget:     {anyWord, false, withRole((*invocation).target)},
		programs.RoleMakeTarget: {anyWord, false, withRole((*invocation).target)},
		programs.RoleField:      {anyWord, false, (*invocation).queryParam},

		programs.RoleReads:    {knownWord, true, (*invocation).pathWord},
		programs.RoleLists:    {knownWord, true, (*invocation).pathWord},
		programs.RoleWrites:   {knownWord, true, (*invocation).pathWord},
		programs.RoleMakes:    {knownWord, false, (*invocation).pathWord},
		programs.RoleDeletes:  {knownWord, true, (*invocation).pathWord},
		programs.RoleMoves:    {knownWord, true, (*invocation).pathWord},
		programs.RoleLink:     {knownWord, false, (*invocation).pathWord},
		programs.RoleLoads:    {knownWord, false, (*invocation).pathWord},
		programs.RoleScript:   {knownWord, false, (*invocation).scriptWord},
		programs.RoleInto:     {knownWord, false, v((*invocation).copyInto)},
		programs.RoleConnects: {knownWord, false, withRole((*invocation).connect)},
		programs.RoleSends:    {knownWord, false, withRole((*invocation).connect)},
		programs.RoleDownload: {knownWord, false, withRole((*invocation).connect)},
		programs.RolePacks:    {knownWord, false, v((*invocation).replacePacked)},
		programs.RoleCopies:   {knownWord, false, withRole((*invocation).copyOperand)},
		programs.RoleSpec:     {knownWord, false, (*invocation).spec},
		programs.RoleExecutes: {knownWord, false, (*invocation).commandLine},
		programs.RoleChdir:    {knownWord, false, v((*invocation).chdir)},
		programs.RoleAssign:   {knownWord, false, (*invocation).assign},

		programs.RoleArchive:    {singleWord, false, v((*invocation).archive)},
		programs.RoleMount:      {singleWord, false, v((*invocation).mount)},
		programs.RoleCopiesInto: {singleWord, false, withRole((*invocation).copyOperand)},
		programs.RoleHost:       {singleWord, false, v((*invocation).host)},
		programs.RoleEndpoint:   {singleWord, false, (*invocation).endpoint},
		programs.RoleImage:      {singleWord, false, (*invocation).image},
		programs.RoleSQL:        {singleWord, false, func(v *invocation, a argument) { v.sql(a.i, a.w, a.option) }},
		programs.RoleDatabase:   {singleWord, false, v((*invocation).database)},
		programs.RoleObject:     {singleWord, false, (*invocation).objectFile},
		programs.RoleSources:    {singleWord, false, (*invocation).plainFile},
		programs.RoleViewed:     {singleWord, false, (*invocation).plainFile},
		programs.RoleMatched:    {singleWord, false, (*invocation).plainFile},
		programs.RoleFromTop:    {singleWord, false, v((*invocation).fromTop)},
		programs.RoleBegins:     {singleWord, false, v((*invocation).namePrefix)},
		programs.RoleCharset:    {singleWord, false, (*invocation).charset},
		programs.RoleSocket:     {singleWord, true, (*invocation).socket},
		programs.RoleSuffix:     {singleWord, false, (*invocation).suffix},
		programs.RoleName:       {singleWord, false, (*invocation).name},
		programs.RoleRepoName:   {singleWord, false, (*invocation).repoName},
		programs.RoleUnpackTo:   {singleWord, false, (*invocation).unpackFolder},
	}
}

// apply adds the effects of an option's value or an operand.
func (v *invocation) apply(role programs.Role, i int, w effects.Word, option, tree bool) {
	h := &roleHandlers[role]
	if w.Tree && !h.tree {
		// It may be any path, so it cannot be a known program, script, setting or folder.
		w = effects.Word{Text: effects.DynamicWord, Shown: w.Shown}
	}
	switch {
	case h.word == anyWord:
	case h.word == textWord:
		if w.Dynamic() || w.Glob {
			v.openText(role, i, w, option)
			return
		}
	case w.Dynamic() && w.Pipe && role == programs.RoleReads && v.p.Readonly:
		v.paths++ // only what a command of the text prints
		return
	case w.Dynamic():
		v.dynamicWord(i)
		if role == programs.RoleScript && v.p.Interpreter == "shell" && w.Guess != "" {
			v.b.AddLikely(w.Guess, v.run.Cwd, v.at.From)
		}
		return
	case w.Glob && h.word == singleWord:
		v.unknown(i, "a pattern whose files are not known: "+display.Display(display.ShowWord(&w)))
		return
	}
	h.do(v, argument{role: role, i: i, w: w, option: option, tree: tree})
}

// change handles a word that makes the program change something.
func (v *invocation) change(a argument) {
	v.changes = true
	if a.option {
		v.markOption(a.i)
	} else {
		v.markHarmful(a.i)
	}
	if !a.option && v.p.HasDashes && v.p.AfterDashes == programs.RoleRunnerWords {
		v.rereadWord(a.i) // pnpm hands words on with or without --
	}
	if v.p.Open {
		v.mayDo(a.i)
		v.mayRun(a.i)
	}
}

// notUnderstood asks about a word of RoleUnknown.
func (v *invocation) notUnderstood(a argument) {
	why := "an operand that permd does not know: "
	if a.option {
		why = "an option that can do more: "
	}
	v.unknown(a.i, why+display.Display(display.ShowWord(&v.args[a.i])))
	v.mayDo(a.i)
}

// queryParam defers a parameter of a request until the request is complete.
func (v *invocation) queryParam(a argument) {
	v.queryParams = append(v.queryParams, deferredValue{role: a.role, arg: a.i, word: a.w})
}

// assign handles a word that sets a variable of the shell.
func (v *invocation) assign(a argument) {
	v.markHarmful(a.i)
	v.b.Add(v.via(a.i, effects.Effect{Kind: effects.KindState, From: v.at.From, Why: "sets a variable", Text: display.Display(display.ShowWord(&a.w))}))
}

// via marks an effect as caused by a word.
func (v *invocation) via(i int, e effects.Effect) effects.Effect {
	e.Via = &effects.Via{Effect: v.index, Arg: i}
	return e
}

// pathWord handles a path.
func (v *invocation) pathWord(a argument) {
	before := v.paths
	v.applyPath(a.role, a.i, a.w, a.tree)
	if a.w.Text == "-" && !a.option && a.role == programs.RoleWrites {
		w := a.w
		w.Text = "./-"
		v.applyPath(a.role, a.i, w, false)
	}
	if a.option {
		v.pathParts(a)
		v.paths = before
	}
}

// pathParts handles the further paths that the value of an option may hold.
func (v *invocation) pathParts(a argument) {
	parts, ok := languages.PathParts(a.w.Text)
	if !ok {
		v.unknown(a.i, "a list of paths that permd cannot take apart: "+display.Display(display.ShowWord(&a.w)))
	}
	if a.role == programs.RoleScript {
		a.role = programs.RoleReads
	}
	for _, part := range parts {
		v.applyPath(a.role, a.i, effects.Word{Text: part, Glob: a.w.Glob}, a.tree)
	}
}

// scriptWord handles a script, or a makefile or similar.
func (v *invocation) scriptWord(a argument) {
	if a.option && v.p.Interpreter == "" && StandardInputs[a.w.Text] {
		v.recipes(a.i)
		return
	}
	if a.option && v.p.Targets != "" {
		v.targetFiles = append(v.targetFiles, a.w.Text)
	}
	if !a.option || v.p.Interpreter != "" { // of a builder an option names targets or settings
		v.runsUndescribed()
	}
	v.pathWord(a)
}

// applyPath adds the effect of a path.
func (v *invocation) applyPath(role programs.Role, i int, w effects.Word, tree bool) {
	switch {
	case w.Text == "":
		return
	case w.Text == "-" && (role == programs.RoleReads || role == programs.RoleScript):
		v.dash(role, i, w)
		return
	case w.Text == "-" && role == programs.RoleWrites && !v.p.Pathspecs:
		return // standard output
	}
	if v.p.Pathspecs && (role == programs.RoleWrites || role == programs.RoleDeletes) {
		var known bool
		if w, tree, known = v.pathspec(i, w); !known {
			return
		}
	}
	tree = tree || w.Tree
	if w.Tree {
		defer func(linked bool, ending string) { v.linked, v.linkedAs = linked, ending }(v.linked, v.linkedAs)
		v.linked, v.linkedAs = w.Linked, w.Ending
	}
	if w.Plain {
		defer func(narrow bool) { v.searchesNoSecrets = narrow }(v.searchesNoSecrets)
		v.searchesNoSecrets = true
	}
	if w.Glob {
		v.pattern(role, i, w)
		return
	}
	if strings.Contains(w.Text, "://") && (role == programs.RoleReads || role == programs.RoleLoads || role == programs.RoleScript) {
		if v.fetches(i, w) {
			return
		}
	}
	add := func(kind effects.Kind, entry, tree bool) {
		if w.Text == "/dev/null" {
			return
		}
		resolve := v.b.Operand
		if entry {
			resolve = v.b.Entry
		}
		v.b.Add(v.via(i, v.below(resolve(kind, w.Text, v.run.Cwd, v.at.From), tree, role == programs.RoleLists)))
	}
	v.paths++
	switch role {
	case programs.RoleReads:
		add(effects.KindRead, false, tree)
		v.completedNames(i, w, tree)
		if v.has(v.p.WritesWith) {
			v.changes = v.changes || !v.p.Reformats
			add(effects.KindWrite, false, tree)
			// The new file may replace a link, as with sed -i: then the link's own name is
			// written.
			if e := v.b.Entry(effects.KindWrite, w.Text, v.run.Cwd, v.at.From); e.File != nil && e.File.Path != v.b.Effects[len(v.b.Effects)-1].Path() {
				v.b.Add(v.via(i, e))
			}
			v.backUp(i, w)
		}
	case programs.RoleLists:
		add(effects.KindRead, false, tree)
	case programs.RoleLoads:
		v.markHarmful(i)
		v.changes = true
		add(effects.KindRead, false, false)
	case programs.RoleWrites:
		v.changes = true
		add(effects.KindWrite, false, tree)
	case programs.RoleMakes:
		v.changes = true
		add(effects.KindWrite, false, false)
		v.b.Paths.Mkdir(w.Text, v.run.Cwd)
	case programs.RoleDeletes:
		v.changes = true
		add(effects.KindDelete, true, tree)
	case programs.RoleMoves:
		v.changes = true
		if w.Text != "/dev/null" {
			e := v.below(v.b.Entry(effects.KindDelete, w.Text, v.run.Cwd, v.at.From), true, false)
			v.moved(&e)
			v.b.Add(v.via(i, e))
		}
		v.passesOn(i, w.Text)
		v.disturbs = append(v.disturbs, w.Text)
	case programs.RoleLink:
		// Writing to the link's own name would mean its target.
		v.changes = true
		if v.has([]string{"--symbolic"}) && w.Text[0] != '/' && len(v.operands) > 1 {
			v.linkTarget(i, w)
			return
		}
		if !v.has([]string{"--symbolic"}) {
			v.passesOn(i, w.Text)
		}
		add(effects.KindWrite, false, tree)
	case programs.RoleScript:
		v.markHarmful(i)
		v.changes = true
		e := v.b.Operand(effects.KindRead, w.Text, v.run.Cwd, v.at.From)
		if e.File != nil {
			v.run.Script = v.b.Script(e.File.Path, v.at.From)
		}
		v.b.Add(v.via(i, e))
	}
}

// below makes an effect recursive if tree is set. With names, the content of files
// below is not read.
func (v *invocation) below(e effects.Effect, tree, names bool) effects.Effect {
	// Given a folder, diff reads the files in it: those with the same names as in
	// another folder, or as the one file that it is given (POSIX, diff).
	if v.run.Program == "diff" && e.File != nil && e.Kind == effects.KindRead && !tree {
		mode, err := v.b.Paths.Lstat(e.File.Path)
		tree = v.b.Stale(e.File.Path) || err == nil && mode.IsDir()
	}
	switch {
	case e.File == nil, !tree:
	case names:
		e.File.Recursive = true
		if v.followsLinks() {
			v.followed = append(v.followed, paths.Followed{Path: e.File.Path})
		}
	default:
		hidden := v.searchesHidden || v.has([]string{"--hidden", "--unrestricted", "--type-add", "--ignore-file"})
		// With --exclude, grep also searches files that no --include names; with --type-add,
		// a type of rg may match any name.
		narrow := v.searchesNoSecrets && !v.searchesHidden && !v.has([]string{"--exclude", "--exclude-from", "--type-add"})
		v.walks(&e, narrow, hidden)
	}
	return e
}
