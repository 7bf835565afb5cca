package effects

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects/plainshell"
)

// apply adds what an option's value or an operand does.
func (v *invocation) apply(does act, i int, w word, option, tree bool) {
	if w.tree && !standsForTree(does) {
		// Any path is no program, code, setting or folder that is known.
		w = word{text: DynamicWord, shown: w.shown}
	}
	switch does {
	case actText, actNumber, actGuarded, actUnfetched, actFormat, actRef, actRefspec, actPackage, actSed, actAwk, actGitFormat, actGitSort, actColumns, actGlobs, actTypes, actData, actRemote,
		actMethod, actGitConfig, actJQ, actYQ, actPlain, actServerSQL, actForm, actGoFlags, actRunnerWords:
		v.applyText(does, i, w, option)
		return
	case actChanges:
		v.changes = true
		if option {
			v.harmOption(i)
		} else {
			v.harm(i)
		}
		return
	case actUnknown:
		why := "an operand that permd does not know: "
		if option {
			why = "an option that can do more: "
		}
		v.unknown(i, why+Display(v.args[i].show()))
		return
	case actInline:
		v.harm(i)
		v.changes = true
		if v.p.interpreter == "shell" {
			v.b.reading(v.shells(i), func() { v.b.inline(v.index, i, []word{w}, v.at, false) })
		} else {
			v.unknown(i, "code given inline")
			v.tail(i + 1)
		}
		return
	case actModule:
		if w.dynamic() || w.glob {
			v.dynamicWord(i)
		}
		v.harm(i)
		v.changes = true
		if !v.module(i, w.text) {
			v.tail(i + 1)
		}
		return
	case actTool:
		v.tool(i, w)
		return
	case actTarget, actMakeTarget:
		v.target(does, i, w)
		return
	case actField:
		v.asked = append(v.asked, later{act: does, arg: i, word: w})
		return
	case actCommand:
		return
	}
	if w.dynamic() {
		v.dynamicWord(i)
		if does == actScript && v.p.interpreter == "shell" && w.guess != "" {
			v.b.glimpse(w.guess, v.run.Cwd, v.at.from)
		}
		return
	}
	if does == actScript && option && v.p.interpreter == "" && standardInputs[w.text] {
		v.recipes(i)
		return
	}
	switch does {
	case actReads, actLists, actWrites, actMakes, actDeletes, actMoves, actLink, actScript, actLoads:
		before := v.paths
		v.applyPath(does, i, w, tree)
		if option {
			v.paths = before
		}
	case actInto:
		v.into(i, w)
	case actConnects, actSends, actDownload:
		v.connects(does, i, w)
	case actArchive, actPacks, actMount, actCopies, actCopiesInto, actSpec, actHost, actEndpoint, actSQL, actUnpackTo,
		actSources, actViewed, actDatabase, actName, actRepoName, actObject:
		v.applyOther(does, i, w, option)
	case actExecutes:
		v.changes = true
		v.harm(i)
		// Some programs hand it to sh, others to the person's own shell.
		v.b.reading(plainshell.All, func() { v.b.nested(v.index, i, w.text, v.at) })
	case actChdir:
		v.harm(i)
		v.chdir(i, w)
	case actAssign:
		v.harm(i)
		v.b.add(v.via(i, Effect{Kind: KindState, From: v.at.from, Why: "sets a variable", Text: Display(w.show())}))
	default:
		v.unknown(i, "an argument that permd does not know: "+Display(w.show()))
	}
}

// standsForTree reports whether what is done with a path is done with all below
// a folder when the word stands for each of them.
func standsForTree(does act) bool {
	switch does {
	case actText, actChanges, actReads, actLists, actWrites, actDeletes, actMoves:
		return true
	}
	return false
}

// via marks an effect as caused by a word.
func (v *invocation) via(i int, e Effect) Effect {
	e.Via = &Via{Effect: v.index, Arg: i}
	return e
}

// applyText checks words that are text but for some forms.
func (v *invocation) applyText(does act, i int, w word, option bool) {
	if w.glob && !w.dynamic() {
		// It becomes names of files, or stays as it is.
		if does == actText && !option {
			return
		}
		v.unknown(i, "a pattern where text is expected: "+Display(w.show()))
		return
	}
	if w.dynamic() {
		// In quotes it is one word; an operand must not be able to look like an
		// option either.
		safe := option || v.dashes >= 0 || (w.prefix != "" && w.prefix[0] != '-') ||
			v.p.stop && len(v.operands) > 0 && v.operands[0] < i
		if w.split || !safe || does != actText {
			v.dynamicWord(i)
		}
		return
	}
	switch does {
	case actNumber:
		if w.text == "" || strings.Trim(w.text, "0123456789") != "" {
			v.unknown(i, "a value that is no number: "+Display(w.show()))
		}
	case actGuarded:
		if strings.HasPrefix(w.text, "@") || strings.Contains(w.text, "%output") {
			v.unknown(i, "a value that names a file: "+Display(w.show()))
		}
	case actUnfetched:
		if strings.Contains(w.text, "://") {
			v.unknown(i, "a value that stands for what is at an address: "+Display(w.show()))
		}
	case actFormat:
		if !strings.HasPrefix(w.text, "+") {
			v.changes = true
			v.harm(i)
		}
	case actRef:
		if strings.HasPrefix(w.text, "/") || strings.HasPrefix(w.text, "./") || strings.Contains(w.text, "../") || w.text == ".." {
			v.b.add(v.via(i, v.b.operand(KindRead, w.text, v.run.Cwd, v.at.from)))
		}
	case actRefspec:
		if strings.HasPrefix(w.text, "+") {
			v.flags = append(v.flags, "--force")
			v.harm(i)
		}
		if strings.HasPrefix(strings.TrimPrefix(w.text, "+"), ":") {
			v.flags = append(v.flags, "--delete")
			v.harm(i)
		}
	case actPackage:
		v.goPackage(i, w)
	case actSed, actAwk, actJQ, actYQ, actGitFormat, actGitSort, actColumns:
		v.language(does, i, w)
	case actGlobs:
		v.searchGlob(i, w)
	case actTypes:
		plain := v.b.w.Table.plainPattern("x." + w.text)
		v.wide, v.narrow = v.wide || !plain, v.narrow || plain
	case actData:
		v.send = true
		if file, ok := strings.CutPrefix(w.text, "@"); ok && file != "-" {
			v.b.add(v.via(i, v.b.operand(KindRead, file, v.run.Cwd, v.at.from)))
		}
	case actRemote:
		v.remote(i, w)
	case actPlain:
		if strings.Contains(w.text, "=") {
			v.changes = true
			v.harm(i)
		}
	case actServerSQL:
		v.changes = true
		v.harm(i)
		// psql's own commands begin with a backslash, and servers run programs
		// and write files of their own.
		if strings.Contains(w.text, "\\") || strings.Contains(strings.ToLower(w.text), "copy") {
			v.unknown(i, "SQL that can reach files or run programs")
		}
	case actRunnerWords:
		if !runnerWords[w.text] && !plainOperand(w.text) {
			v.changes = true
			v.harm(i)
			v.guardedWord(i, w.text)
		}
	case actForm:
		v.form(i, w)
	case actGoFlags:
		if !plainGoFlags(w.text) {
			v.unknown(i, "flags that can run a program: "+Display(w.show()))
		}
	case actMethod:
		v.method = strings.ToUpper(w.text)
		if v.method != "GET" && v.method != "HEAD" {
			v.changes, v.send = true, true
			v.harm(i)
		}
	case actGitConfig:
		if !harmlessGitConfig(w.text) {
			v.unknown(i, "a setting of git's, which can name programs to run: "+Display(w.show()))
		}
	}
}

// applyPath adds the effect of a path.
func (v *invocation) applyPath(does act, i int, w word, tree bool) {
	if w.text == "" || w.text == "-" && (does == actReads || does == actWrites || does == actScript) {
		return // nothing, or a standard stream
	}
	tree = tree || w.tree
	if w.tree {
		defer func(linked bool) { v.linked = linked }(v.linked)
		v.linked = w.linked
	}
	if w.plain {
		defer func(narrow bool) { v.narrow = narrow }(v.narrow)
		v.narrow = true
	}
	if w.glob {
		v.pattern(does, i, w)
		return
	}
	if strings.Contains(w.text, "://") && (does == actReads || does == actLoads || does == actScript) {
		if v.fetches(i, w) {
			return
		}
	}
	add := func(kind Kind, entry, tree bool) {
		if w.text == "/dev/null" {
			return
		}
		resolve := v.b.operand
		if entry {
			resolve = v.b.entry
		}
		v.b.add(v.via(i, v.below(resolve(kind, w.text, v.run.Cwd, v.at.from), tree, does == actLists)))
	}
	v.paths++
	switch does {
	case actReads:
		add(KindRead, false, tree)
		v.completed(i, w, tree)
		if v.has(v.p.writesWith) {
			v.changes = true
			add(KindWrite, false, tree)
			// A new file takes the place of a link, as sed -i does it, and what lies
			// at the link's own name changes too.
			if e := v.b.entry(KindWrite, w.text, v.run.Cwd, v.at.from); e.File != nil && e.File.Path != v.b.effects[len(v.b.effects)-1].path() {
				v.b.add(v.via(i, e))
			}
		}
	case actLists:
		add(KindRead, false, tree)
	case actLoads:
		v.harm(i)
		v.changes = true
		add(KindRead, false, false)
	case actWrites:
		v.changes = true
		add(KindWrite, false, tree)
	case actMakes:
		v.changes = true
		add(KindWrite, false, false)
		v.b.res.mkdir(w.text, v.run.Cwd)
	case actDeletes:
		v.changes = true
		add(KindDelete, true, tree)
	case actMoves:
		v.changes = true
		add(KindDelete, true, true)
		v.disturbs = append(v.disturbs, w.text)
	case actLink:
		// Writing through the link's name would write its target.
		v.changes = true
		if v.has([]string{"--symbolic"}) && w.text[0] != '/' && len(v.operands) > 1 {
			v.linkTarget(i, w)
			return
		}
		add(KindWrite, false, tree)
	case actScript:
		v.harm(i)
		v.changes = true
		e := v.b.operand(KindRead, w.text, v.run.Cwd, v.at.from)
		if e.File != nil {
			v.run.Script = v.b.script(e.File.Path, v.at.from)
		}
		v.b.add(v.via(i, e))
	}
}

// below makes an effect mean all below its path, if tree. Where only names are
// listed, what lies there is not read.
func (v *invocation) below(e Effect, tree, names bool) Effect {
	switch {
	case e.File == nil:
	case !tree:
		// Of two folders, diff compares what lies in them.
		if mode, err := v.b.res.lstat(e.File.Path); v.run.Program == "diff" && err == nil && mode.IsDir() && v.followsLinks() {
			v.followed = append(v.followed, e.File.Path)
		}
	case names:
		e.File.Recursive = true
		if v.followsLinks() {
			v.followed = append(v.followed, e.File.Path)
		}
	default:
		hidden := v.wide || v.has([]string{"--hidden", "--unrestricted", "--type-add", "--ignore-file"})
		// After an --exclude, grep goes into what no --include names as well; with
		// a --type-add, a type of rg may be names of any kind.
		narrow := v.narrow && !v.wide && !v.has([]string{"--exclude", "--exclude-from", "--type-add"})
		v.b.res.recurse(&e, narrow || v.p.skipsHidden && !hidden)
		v.b.res.search(&e, v.reach(narrow, hidden))
		if v.linked || v.followsLinks() {
			v.followed = append(v.followed, e.File.Path)
		}
	}
	return e
}

// pattern adds the effect of a glob. A read, or a listing, is a read below the
// folder that the pattern begins with, and of what links in it lead to; so is
// the loss of all that is in one. Where else a pattern stands, what it matches
// is not followed.
func (v *invocation) pattern(does act, i int, w word) {
	dir, last := path.Split(w.text)
	literal := dir == "" || !strings.ContainsAny(dir, "*?[")
	if dir == "" {
		dir = "."
	}
	kind := Kind("")
	switch {
	case !literal:
	case does == actLists, does == actReads && !v.has(v.p.writesWith):
		kind = KindRead
	case (does == actDeletes || does == actMoves) && strings.Trim(last, "*.") == "":
		kind = KindDelete
		v.changes = true
	}
	if kind == "" {
		v.unknown(i, "a pattern whose files are not known: "+Display(w.show()))
		return
	}
	v.paths++
	e := v.b.operand(kind, dir, v.run.Cwd, v.at.from)
	e = v.below(e, true, kind == KindRead)
	if e.File != nil {
		e.File.Given = w.text
	}
	if does == actMoves {
		v.disturbs = append(v.disturbs, dir)
	}
	var more []Effect
	if (does == actReads || does == actLists) && e.File != nil {
		tree := v.p.recursive || v.has(v.p.recursiveWith)
		var why string
		if more, why = v.b.glob(&e, last, does == actLists, tree, v.at.from); why != "" {
			v.unknown(i, why+": "+Display(w.show()))
			return
		}
	}
	v.b.add(v.via(i, e))
	for _, e := range more {
		v.b.add(v.via(i, v.below(e, e.File != nil && e.File.Recursive, does == actLists)))
	}
}

// chdir follows an option that changes the folder the program runs in.
func (v *invocation) chdir(i int, w word) {
	v.run.Cwd = v.folder(i, w.text)
	if v.run.Cwd == "" {
		v.unknown(i, "a folder that is not known: "+Display(w.show()))
	}
}

// folder is where a path of the run leads, "" when that is not known.
func (v *invocation) folder(i int, text string) string {
	if v.args[i].glob {
		return ""
	}
	e := v.b.operand(KindRead, text, v.run.Cwd, v.at.from)
	if e.File == nil {
		return ""
	}
	return e.File.Path
}
