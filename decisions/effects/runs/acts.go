package runs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
)

// argument is a word with what it is to the program.
type argument struct {
	act    programs.Act
	i      int // index of the word
	w      effects.Word
	option bool // it is an option or the value of one, not an operand
	tree   bool // it means everything below it
}

// role says what becomes of the words that have one.
type role struct {
	word wordCheck
	// tree is set if what is done with a path is done with all below a folder when
	// the word stands for each of them.
	tree bool
	do   func(*invocation, argument)
}

// wordCheck says which words a role can be applied to. The others ask.
type wordCheck uint8

const (
	anyWord    wordCheck = iota
	textWord             // text that is known: no pattern
	knownWord            // no word whose text is not known; a pattern stays one
	singleWord           // as knownWord, and no pattern
)

// roles are indexed by programs.Act. They are filled in here since words of some
// roles are commands, whose words have roles in turn.
var roles []role

func init() {
	v := func(do func(*invocation, int, effects.Word)) func(*invocation, argument) {
		return func(v *invocation, a argument) { do(v, a.i, a.w) }
	}
	act := func(do func(*invocation, programs.Act, int, effects.Word)) func(*invocation, argument) {
		return func(v *invocation, a argument) { do(v, a.act, a.i, a.w) }
	}
	none := func(*invocation, argument) {}
	roles = []role{
		programs.ActText:        {textWord, true, none},
		programs.ActNumber:      {textWord, false, (*invocation).number},
		programs.ActGuarded:     {textWord, false, (*invocation).guardedText},
		programs.ActUnfetched:   {textWord, false, (*invocation).unfetched},
		programs.ActFormat:      {textWord, false, (*invocation).format},
		programs.ActPlain:       {textWord, false, (*invocation).plainText},
		programs.ActRef:         {textWord, false, (*invocation).ref},
		programs.ActRefspec:     {textWord, false, (*invocation).refspec},
		programs.ActPackage:     {textWord, false, v((*invocation).goPackage)},
		programs.ActSed:         {textWord, false, act((*invocation).language)},
		programs.ActAwk:         {textWord, false, act((*invocation).language)},
		programs.ActJQ:          {textWord, false, act((*invocation).language)},
		programs.ActYQ:          {textWord, false, act((*invocation).language)},
		programs.ActGitFormat:   {textWord, false, act((*invocation).language)},
		programs.ActGitSort:     {textWord, false, act((*invocation).language)},
		programs.ActColumns:     {textWord, false, act((*invocation).language)},
		programs.ActGlobs:       {textWord, false, v((*invocation).searchGlob)},
		programs.ActTypes:       {textWord, false, (*invocation).fileTypes},
		programs.ActData:        {textWord, false, (*invocation).data},
		programs.ActRemote:      {textWord, false, v((*invocation).remote)},
		programs.ActServerSQL:   {textWord, false, (*invocation).serverSQL},
		programs.ActRunnerWords: {textWord, false, (*invocation).runnerWord},
		programs.ActForm:        {textWord, false, v((*invocation).form)},
		programs.ActGoFlags:     {textWord, false, (*invocation).goFlags},
		programs.ActMethod:      {textWord, false, (*invocation).requestMethod},
		programs.ActGitConfig:   {textWord, false, (*invocation).gitConfig},

		programs.ActChanges:    {anyWord, true, (*invocation).change},
		programs.ActUnknown:    {anyWord, false, (*invocation).notUnderstood},
		programs.ActCommand:    {anyWord, false, none},
		programs.ActInline:     {anyWord, false, (*invocation).inline},
		programs.ActModule:     {anyWord, false, (*invocation).runModule},
		programs.ActTool:       {anyWord, false, v((*invocation).tool)},
		programs.ActTarget:     {anyWord, false, act((*invocation).target)},
		programs.ActMakeTarget: {anyWord, false, act((*invocation).target)},
		programs.ActField:      {anyWord, false, (*invocation).queryParam},

		programs.ActReads:    {knownWord, true, (*invocation).pathWord},
		programs.ActLists:    {knownWord, true, (*invocation).pathWord},
		programs.ActWrites:   {knownWord, true, (*invocation).pathWord},
		programs.ActMakes:    {knownWord, false, (*invocation).pathWord},
		programs.ActDeletes:  {knownWord, true, (*invocation).pathWord},
		programs.ActMoves:    {knownWord, true, (*invocation).pathWord},
		programs.ActLink:     {knownWord, false, (*invocation).pathWord},
		programs.ActLoads:    {knownWord, false, (*invocation).pathWord},
		programs.ActScript:   {knownWord, false, (*invocation).scriptWord},
		programs.ActInto:     {knownWord, false, v((*invocation).into)},
		programs.ActConnects: {knownWord, false, act((*invocation).connects)},
		programs.ActSends:    {knownWord, false, act((*invocation).connects)},
		programs.ActDownload: {knownWord, false, act((*invocation).connects)},
		programs.ActPacks:    {knownWord, false, v((*invocation).packs)},
		programs.ActCopies:   {knownWord, false, act((*invocation).copies)},
		programs.ActSpec:     {knownWord, false, (*invocation).spec},
		programs.ActExecutes: {knownWord, false, (*invocation).executes},
		programs.ActChdir:    {knownWord, false, v((*invocation).chdir)},
		programs.ActAssign:   {knownWord, false, (*invocation).assign},

		programs.ActArchive:    {singleWord, false, v((*invocation).archive)},
		programs.ActMount:      {singleWord, false, v((*invocation).mount)},
		programs.ActCopiesInto: {singleWord, false, act((*invocation).copies)},
		programs.ActHost:       {singleWord, false, v((*invocation).host)},
		programs.ActEndpoint:   {singleWord, false, (*invocation).endpoint},
		programs.ActSQL:        {singleWord, false, func(v *invocation, a argument) { v.sql(a.i, a.w, a.option) }},
		programs.ActDatabase:   {singleWord, false, v((*invocation).database)},
		programs.ActObject:     {singleWord, false, (*invocation).objectFile},
		programs.ActSources:    {singleWord, false, (*invocation).plainFile},
		programs.ActViewed:     {singleWord, false, (*invocation).plainFile},
		programs.ActMatched:    {singleWord, false, (*invocation).plainFile},
		programs.ActFromTop:    {singleWord, false, v((*invocation).fromTop)},
		programs.ActBegins:     {singleWord, false, v((*invocation).begins)},
		programs.ActCharset:    {singleWord, false, (*invocation).charset},
		programs.ActName:       {singleWord, false, (*invocation).name},
		programs.ActRepoName:   {singleWord, false, (*invocation).repoName},
		programs.ActUnpackTo:   {singleWord, false, (*invocation).unpacksTo},
	}
}

// apply adds what an option's value or an operand does.
func (v *invocation) apply(does programs.Act, i int, w effects.Word, option, tree bool) {
	r := &roles[does]
	if w.Tree && !r.tree {
		// Any path is no program, code, setting or folder that is known.
		w = effects.Word{Text: effects.DynamicWord, Shown: w.Shown}
	}
	switch {
	case r.word == anyWord:
	case r.word == textWord:
		if w.Dynamic() || w.Glob {
			v.openText(does, i, w, option)
			return
		}
	case w.Dynamic():
		v.dynamicWord(i)
		if does == programs.ActScript && v.p.Interpreter == "shell" && w.Guess != "" {
			v.b.AddLikely(w.Guess, v.run.Cwd, v.at.From)
		}
		return
	case w.Glob && r.word == singleWord:
		v.unknown(i, "a pattern whose files are not known: "+display.Display(display.ShowWord(&w)))
		return
	}
	r.do(v, argument{act: does, i: i, w: w, option: option, tree: tree})
}

// change handles a word that changes what the program does.
func (v *invocation) change(a argument) {
	v.changes = true
	if a.option {
		v.harmOption(a.i)
	} else {
		v.harm(a.i)
	}
}

// notUnderstood asks about a word that the table says is not understood.
func (v *invocation) notUnderstood(a argument) {
	why := "an operand that permd does not know: "
	if a.option {
		why = "an option that can do more: "
	}
	v.unknown(a.i, why+display.Display(display.ShowWord(&v.args[a.i])))
}

// queryParam keeps a parameter of a request until all is known about it.
func (v *invocation) queryParam(a argument) {
	v.queryParams = append(v.queryParams, deferredValue{act: a.act, arg: a.i, word: a.w})
}

// assign handles a word that sets a variable of the shell.
func (v *invocation) assign(a argument) {
	v.harm(a.i)
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
	v.applyPath(a.act, a.i, a.w, a.tree)
	if a.w.Text == "-" && !a.option {
		v.dash(a.act, a.i, a.w)
	}
	if a.option {
		v.paths = before
	}
}

// scriptWord handles a script, or a makefile and its like.
func (v *invocation) scriptWord(a argument) {
	if a.option && v.p.Interpreter == "" && StandardInputs[a.w.Text] {
		v.recipes(a.i)
		return
	}
	v.pathWord(a)
}

// applyPath adds the effect of a path.
func (v *invocation) applyPath(does programs.Act, i int, w effects.Word, tree bool) {
	if w.Text == "" || w.Text == "-" && (does == programs.ActReads || does == programs.ActWrites || does == programs.ActScript) {
		return // nothing, or a standard stream
	}
	tree = tree || w.Tree
	if w.Tree {
		defer func(linked bool) { v.linked = linked }(v.linked)
		v.linked = w.Linked
	}
	if w.Plain {
		defer func(narrow bool) { v.searchesNoSecrets = narrow }(v.searchesNoSecrets)
		v.searchesNoSecrets = true
	}
	if w.Glob {
		v.pattern(does, i, w)
		return
	}
	if strings.Contains(w.Text, "://") && (does == programs.ActReads || does == programs.ActLoads || does == programs.ActScript) {
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
			resolve = v.b.entry
		}
		v.b.Add(v.via(i, v.below(resolve(kind, w.Text, v.run.Cwd, v.at.From), tree, does == programs.ActLists)))
	}
	v.paths++
	switch does {
	case programs.ActReads:
		add(effects.KindRead, false, tree)
		v.completed(i, w, tree)
		if v.has(v.p.WritesWith) {
			v.changes = true
			add(effects.KindWrite, false, tree)
			// A new file takes the place of a link, as sed -i does it, and what lies
			// at the link's own name changes too.
			if e := v.b.entry(effects.KindWrite, w.Text, v.run.Cwd, v.at.From); e.File != nil && e.File.Path != v.b.Effects[len(v.b.Effects)-1].Path() {
				v.b.Add(v.via(i, e))
			}
		}
	case programs.ActLists:
		add(effects.KindRead, false, tree)
	case programs.ActLoads:
		v.harm(i)
		v.changes = true
		add(effects.KindRead, false, false)
	case programs.ActWrites:
		v.changes = true
		add(effects.KindWrite, false, tree)
	case programs.ActMakes:
		v.changes = true
		add(effects.KindWrite, false, false)
		v.b.Paths.Mkdir(w.Text, v.run.Cwd)
	case programs.ActDeletes:
		v.changes = true
		add(effects.KindDelete, true, tree)
	case programs.ActMoves:
		v.changes = true
		add(effects.KindDelete, true, true)
		v.disturbs = append(v.disturbs, w.Text)
	case programs.ActLink:
		// Writing through the link's name would write its target.
		v.changes = true
		if v.has([]string{"--symbolic"}) && w.Text[0] != '/' && len(v.operands) > 1 {
			v.linkTarget(i, w)
			return
		}
		add(effects.KindWrite, false, tree)
	case programs.ActScript:
		v.harm(i)
		v.changes = true
		e := v.b.Operand(effects.KindRead, w.Text, v.run.Cwd, v.at.From)
		if e.File != nil {
			v.run.Script = v.b.script(e.File.Path, v.at.From)
		}
		v.b.Add(v.via(i, e))
	}
}

// below makes an effect mean all below its path, if tree. Where only names are
// listed, what lies there is not read.
func (v *invocation) below(e effects.Effect, tree, names bool) effects.Effect {
	// Of a folder, diff compares what lies in it: with the file of the same name in
	// another folder, or with the one file that it is given (POSIX, diff).
	if v.run.Program == "diff" && e.File != nil && e.Kind == effects.KindRead && !tree {
		mode, err := v.b.Paths.Lstat(e.File.Path)
		tree = v.b.Stale(e.File.Path) || err == nil && mode.IsDir()
	}
	switch {
	case e.File == nil, !tree:
	case names:
		e.File.Recursive = true
		if v.followsLinks() {
			v.followed = append(v.followed, e.File.Path)
		}
	default:
		hidden := v.searchesHidden || v.has([]string{"--hidden", "--unrestricted", "--type-add", "--ignore-file"})
		// After an --exclude, grep goes into what no --include names as well; with
		// a --type-add, a type of rg may be names of any kind.
		narrow := v.searchesNoSecrets && !v.searchesHidden && !v.has([]string{"--exclude", "--exclude-from", "--type-add"})
		v.b.Paths.Recurse(&e, narrow || v.p.SkipsHidden && !hidden)
		v.b.Paths.Search(&e, v.reach(narrow, hidden))
		if v.linked || v.followsLinks() {
			v.followed = append(v.followed, e.File.Path)
		}
	}
	return e
}

// chdir follows an option that changes the folder the program runs in.
func (v *invocation) chdir(i int, w effects.Word) {
	v.harm(i)
	v.run.Cwd = v.folder(i, w.Text)
	if v.run.Cwd == "" {
		v.unknown(i, "a folder that is not known: "+display.Display(display.ShowWord(&w)))
	}
}

// folder is where a path of the run leads, "" when that is not known.
func (v *invocation) folder(i int, text string) string {
	if v.args[i].Glob {
		return ""
	}
	e := v.b.Operand(effects.KindRead, text, v.run.Cwd, v.at.From)
	if e.File == nil {
		return ""
	}
	return e.File.Path
}
