package runs

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
)

// apply adds what an option's value or an operand does.
func (v *invocation) apply(does programs.Act, i int, w effects.Word, option, tree bool) {
	if w.Tree && !standsForTree(does) {
		// Any path is no program, code, setting or folder that is known.
		w = effects.Word{Text: effects.DynamicWord, Shown: w.Shown}
	}
	switch does {
	case programs.ActText, programs.ActNumber, programs.ActGuarded, programs.ActUnfetched, programs.ActFormat, programs.ActRef, programs.ActRefspec, programs.ActPackage, programs.ActSed, programs.ActAwk, programs.ActGitFormat, programs.ActGitSort, programs.ActColumns, programs.ActGlobs, programs.ActTypes, programs.ActData, programs.ActRemote,
		programs.ActMethod, programs.ActGitConfig, programs.ActJQ, programs.ActYQ, programs.ActPlain, programs.ActServerSQL, programs.ActForm, programs.ActGoFlags, programs.ActRunnerWords:
		v.applyText(does, i, w, option)
		return
	case programs.ActChanges:
		v.changes = true
		if option {
			v.harmOption(i)
		} else {
			v.harm(i)
		}
		return
	case programs.ActUnknown:
		why := "an operand that permd does not know: "
		if option {
			why = "an option that can do more: "
		}
		v.unknown(i, why+display.Display(display.ShowWord(&v.args[i])))
		return
	case programs.ActInline:
		v.harm(i)
		v.changes = true
		if v.p.Interpreter == "shell" {
			v.b.Reading(v.shells(i), func() { v.b.Inline(v.index, i, []effects.Word{w}, v.at, false) })
		} else {
			v.unknown(i, "code given inline")
			v.tail(i + 1)
		}
		return
	case programs.ActModule:
		if w.Dynamic() || w.Glob {
			v.dynamicWord(i)
		}
		v.harm(i)
		v.changes = true
		if !v.module(i, w.Text) {
			v.tail(i + 1)
		}
		return
	case programs.ActTool:
		v.tool(i, w)
		return
	case programs.ActTarget, programs.ActMakeTarget:
		v.target(does, i, w)
		return
	case programs.ActField:
		v.asked = append(v.asked, later{act: does, arg: i, word: w})
		return
	case programs.ActCommand:
		return
	}
	if w.Dynamic() {
		v.dynamicWord(i)
		if does == programs.ActScript && v.p.Interpreter == "shell" && w.Guess != "" {
			v.b.Glimpse(w.Guess, v.run.Cwd, v.at.From)
		}
		return
	}
	if does == programs.ActScript && option && v.p.Interpreter == "" && StandardInputs[w.Text] {
		v.recipes(i)
		return
	}
	switch does {
	case programs.ActReads, programs.ActLists, programs.ActWrites, programs.ActMakes, programs.ActDeletes, programs.ActMoves, programs.ActLink, programs.ActScript, programs.ActLoads:
		before := v.paths
		v.applyPath(does, i, w, tree)
		if w.Text == "-" && !option {
			v.dash(does, i, w)
		}
		if option {
			v.paths = before
		}
	case programs.ActInto:
		v.into(i, w)
	case programs.ActConnects, programs.ActSends, programs.ActDownload:
		v.connects(does, i, w)
	case programs.ActArchive, programs.ActPacks, programs.ActMount, programs.ActCopies, programs.ActCopiesInto, programs.ActSpec, programs.ActHost, programs.ActEndpoint, programs.ActSQL, programs.ActUnpackTo,
		programs.ActSources, programs.ActViewed, programs.ActDatabase, programs.ActName, programs.ActRepoName, programs.ActObject,
		programs.ActFromTop, programs.ActMatched, programs.ActCharset, programs.ActBegins:
		v.applyOther(does, i, w, option)
	case programs.ActExecutes:
		v.changes = true
		v.harm(i)
		// Some programs hand it to sh, others to the person's own shell.
		v.b.Reading(plainshell.All, func() { v.b.nested(v.index, i, w.Text, v.at) })
	case programs.ActChdir:
		v.harm(i)
		v.chdir(i, w)
	case programs.ActAssign:
		v.harm(i)
		v.b.Add(v.via(i, effects.Effect{Kind: effects.KindState, From: v.at.From, Why: "sets a variable", Text: display.Display(display.ShowWord(&w))}))
	default:
		v.unknown(i, "an argument that permd does not know: "+display.Display(display.ShowWord(&w)))
	}
}

// standsForTree reports whether what is done with a path is done with all below
// a folder when the word stands for each of them.
func standsForTree(does programs.Act) bool {
	switch does {
	case programs.ActText, programs.ActChanges, programs.ActReads, programs.ActLists, programs.ActWrites, programs.ActDeletes, programs.ActMoves:
		return true
	}
	return false
}

// via marks an effect as caused by a word.
func (v *invocation) via(i int, e effects.Effect) effects.Effect {
	e.Via = &effects.Via{Effect: v.index, Arg: i}
	return e
}

// applyText checks words that are text but for some forms.
func (v *invocation) applyText(does programs.Act, i int, w effects.Word, option bool) {
	if w.Glob && !w.Dynamic() {
		// It becomes names of files, or stays as it is.
		if does == programs.ActText && !option {
			return
		}
		v.unknown(i, "a pattern where text is expected: "+display.Display(display.ShowWord(&w)))
		return
	}
	if w.Dynamic() {
		// In quotes it is one word; an operand must not be able to look like an
		// option either.
		safe := option || v.dashes >= 0 || (w.Prefix != "" && w.Prefix[0] != '-') ||
			v.p.Stop && len(v.operands) > 0 && v.operands[0] < i
		if w.Split || !safe || does != programs.ActText {
			v.dynamicWord(i)
		}
		return
	}
	switch does {
	case programs.ActNumber:
		if w.Text == "" || strings.Trim(w.Text, "0123456789") != "" {
			v.unknown(i, "a value that is no number: "+display.Display(display.ShowWord(&w)))
		}
	case programs.ActGuarded:
		if strings.HasPrefix(w.Text, "@") || strings.Contains(w.Text, "%output") {
			v.unknown(i, "a value that names a file: "+display.Display(display.ShowWord(&w)))
		}
	case programs.ActUnfetched:
		if strings.Contains(w.Text, "://") {
			v.unknown(i, "a value that stands for what is at an address: "+display.Display(display.ShowWord(&w)))
		}
	case programs.ActFormat:
		if !strings.HasPrefix(w.Text, "+") {
			v.changes = true
			v.harm(i)
		}
	case programs.ActRef:
		if strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, "./") || strings.Contains(w.Text, "../") || w.Text == ".." {
			v.b.Add(v.via(i, v.b.Operand(effects.KindRead, w.Text, v.run.Cwd, v.at.From)))
		}
	case programs.ActRefspec:
		if strings.HasPrefix(w.Text, "+") {
			v.flags = append(v.flags, "--force")
			v.harm(i)
		}
		if strings.HasPrefix(strings.TrimPrefix(w.Text, "+"), ":") {
			v.flags = append(v.flags, "--delete")
			v.harm(i)
		}
	case programs.ActPackage:
		v.goPackage(i, w)
	case programs.ActSed, programs.ActAwk, programs.ActJQ, programs.ActYQ, programs.ActGitFormat, programs.ActGitSort, programs.ActColumns:
		v.language(does, i, w)
	case programs.ActGlobs:
		v.searchGlob(i, w)
	case programs.ActTypes:
		plain := v.b.Table.PlainPattern("x." + w.Text)
		v.wide, v.narrow = v.wide || !plain, v.narrow || plain
	case programs.ActData:
		v.send = true
		if file, ok := strings.CutPrefix(w.Text, "@"); ok && file != "-" {
			v.b.Add(v.via(i, v.b.Operand(effects.KindRead, file, v.run.Cwd, v.at.From)))
		}
	case programs.ActRemote:
		v.remote(i, w)
	case programs.ActPlain:
		if strings.Contains(w.Text, "=") {
			v.changes = true
			v.harm(i)
		}
	case programs.ActServerSQL:
		v.changes = true
		v.harm(i)
		// psql's own commands begin with a backslash, and servers run programs
		// and write files of their own.
		if strings.Contains(w.Text, "\\") || strings.Contains(strings.ToLower(w.Text), "copy") {
			v.unknown(i, "SQL that can reach files or run programs")
		}
	case programs.ActRunnerWords:
		if !runnerWords[w.Text] && !plainOperand(w.Text) {
			v.changes = true
			v.harm(i)
			v.guardedWord(i, w.Text)
		}
	case programs.ActForm:
		v.form(i, w)
	case programs.ActGoFlags:
		if !plainGoFlags(w.Text) {
			v.unknown(i, "flags that can run a program: "+display.Display(display.ShowWord(&w)))
		}
	case programs.ActMethod:
		v.method = strings.ToUpper(w.Text)
		if v.method != "GET" && v.method != "HEAD" {
			v.changes, v.send = true, true
			v.harm(i)
		}
	case programs.ActGitConfig:
		if !harmlessGitConfig(w.Text) {
			v.unknown(i, "a setting of git's, which can name programs to run: "+display.Display(display.ShowWord(&w)))
		}
	}
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
		defer func(narrow bool) { v.narrow = narrow }(v.narrow)
		v.narrow = true
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
		hidden := v.wide || v.has([]string{"--hidden", "--unrestricted", "--type-add", "--ignore-file"})
		// After an --exclude, grep goes into what no --include names as well; with
		// a --type-add, a type of rg may be names of any kind.
		narrow := v.narrow && !v.wide && !v.has([]string{"--exclude", "--exclude-from", "--type-add"})
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
