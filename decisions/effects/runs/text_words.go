package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/wordset"
)

// goProxy is where the go command fetches modules that are not in its cache.
const goProxy = "https://proxy.golang.org"

// goPackage handles a word that names Go packages or source files. Running the project's
// code is inherent to a run of the go command; code from elsewhere is not, and a package
// with a version may be fetched, by a name that can carry any data to its server.
func (v *invocation) goPackage(i int, w effects.Word) {
	if strings.Contains(w.Text, "@") {
		if v.run.Program == "go" && len(v.subs) > 0 && v.subs[0] == "run" { // without a version it is the project's
			v.runsUndescribed()
		}
		v.changes = true
		v.markHarmful(i)
		e := v.b.Paths.Connect(goProxy, effects.MethodGet, v.at.From)
		e.Via = &effects.Via{Effect: v.index, Arg: effects.Inherent}
		v.b.Add(e)
	}
	file, _ := strings.CutSuffix(w.Text, "...")
	if first, _, _ := strings.Cut(w.Text, "/"); !strings.HasPrefix(first, ".") && strings.Contains(first, ".") && !strings.HasSuffix(w.Text, ".go") {
		v.markHarmful(i) // a module of somebody else may have that name
	}
	if !strings.HasPrefix(file, ".") && !strings.HasPrefix(file, "/") && !strings.HasSuffix(file, ".go") {
		return
	}
	if e := v.b.Operand(effects.KindRead, file, v.run.Cwd, v.at.From); e.File == nil || !e.Tags.Has(effects.InProject) {
		v.changes = true
		v.markHarmful(i)
		v.b.Add(v.via(i, e))
	}
}

// searchGlob handles a pattern for the names that a search reads: a plain one excludes
// all other names, any other may include names that the search skips by default.
func (v *invocation) searchGlob(i int, w effects.Word) {
	if strings.HasPrefix(w.Text, "!") {
		return
	}
	names := paths.Alternatives(path.Base(w.Text))
	if !slices.ContainsFunc(names, func(name string) bool { return name == "" || !v.b.Table.PlainPattern(name) }) {
		v.searchesNoSecrets = true
		return
	}
	v.searchesHidden = true
	if slices.ContainsFunc(names, paths.ChoosesSecrets) {
		v.unknown(i, "a pattern that chooses files which may hold secrets: "+display.Display(display.ShowWord(&w)))
	}
}

// openText handles a pattern or unknown text at a position of RoleText and similar.
func (v *invocation) openText(role programs.Role, i int, w effects.Word, option bool) {
	if !w.Dynamic() {
		// It expands to names of files, or stays as it is.
		if role != programs.RoleText || option {
			v.unknown(i, "a pattern where text is expected: "+display.Display(display.ShowWord(&w)))
		}
		v.namesBelow(i, w)
		return
	}
	// In quotes it is one word; an operand must in addition not be able to look
	// like an option.
	safe := option || v.dashes >= 0 || (w.Prefix != "" && w.Prefix[0] != '-') ||
		v.p.Stop && len(v.operands) > 0 && v.operands[0] < i
	if w.Split || !safe || role != programs.RoleText {
		v.dynamicWord(i)
	}
}

// namesBelow sets aside the reads of the folders whose names a pattern stands for, where the
// program makes text of them: echo DIR/* shows what ls does.
func (v *invocation) namesBelow(i int, w effects.Word) {
	if !w.Glob {
		return
	}
	dir, _ := path.Split(w.Text)
	dir, parts := folderPatterns(dir)
	if dir == "" {
		dir = "."
	}
	e := v.b.Operand(effects.KindRead, dir, v.run.Cwd, v.at.From)
	if e.File == nil {
		return
	}
	folders, why := v.b.Folders(e.File.Path, parts)
	if why != "" { // any of them
		e.File.Recursive = true
		v.setAside(i, e)
		return
	}
	for _, folder := range folders {
		v.setAside(i, v.b.Operand(effects.KindRead, folder, "", v.at.From))
	}
}

// number, guardedText and the methods below handle words that are text, except for
// certain forms.
func (v *invocation) number(a argument) {
	if a.w.Text == "" || strings.Trim(a.w.Text, "0123456789") != "" {
		v.unknown(a.i, "a value that is no number: "+display.Display(display.ShowWord(&a.w)))
	}
}

func (v *invocation) guardedText(a argument) {
	if strings.HasPrefix(a.w.Text, "@") || strings.Contains(a.w.Text, "%output") {
		v.unknown(a.i, "a value that names a file: "+display.Display(display.ShowWord(&a.w)))
	}
}

func (v *invocation) unfetched(a argument) {
	if strings.Contains(a.w.Text, "://") {
		v.unknown(a.i, "a value that stands for what is at an address: "+display.Display(display.ShowWord(&a.w)))
	}
}

func (v *invocation) format(a argument) {
	if !strings.HasPrefix(a.w.Text, "+") {
		v.changes = true
		v.markHarmful(a.i)
	}
}

func (v *invocation) plainText(a argument) {
	if strings.Contains(a.w.Text, "=") {
		v.changes = true
		v.markHarmful(a.i)
	}
}

func (v *invocation) ref(a argument) {
	if text := a.w.Text; strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.Contains(text, "../") || text == ".." {
		v.b.Add(v.via(a.i, v.b.Operand(effects.KindRead, text, v.run.Cwd, v.at.From)))
	}
}

func (v *invocation) refspec(a argument) {
	if strings.HasPrefix(a.w.Text, "+") {
		v.flags = append(v.flags, "--force")
		v.markHarmful(a.i)
	}
	if strings.HasPrefix(strings.TrimPrefix(a.w.Text, "+"), ":") {
		v.flags = append(v.flags, "--delete")
		v.markHarmful(a.i)
	}
}

func (v *invocation) fileTypes(a argument) {
	plain := v.b.Table.PlainPattern("x." + a.w.Text)
	v.searchesHidden, v.searchesNoSecrets = v.searchesHidden || !plain, v.searchesNoSecrets || plain
}

func (v *invocation) data(a argument) {
	v.send = true
	if file, ok := strings.CutPrefix(a.w.Text, "@"); ok && file != "-" {
		v.b.Add(v.via(a.i, v.b.Operand(effects.KindRead, file, v.run.Cwd, v.at.From)))
	}
}

func (v *invocation) serverSQL(a argument) {
	v.changes = true
	v.markHarmful(a.i)
	// psql's own commands begin with a backslash, and with COPY a server runs programs
	// and writes files.
	if strings.Contains(a.w.Text, "\\") || strings.Contains(strings.ToLower(a.w.Text), "copy") {
		v.unknown(a.i, "SQL that can reach files or run programs")
	}
}

func (v *invocation) runnerWord(a argument) {
	if runnerWords.Has(a.w.Text) {
		return
	}
	if !plainOperand(a.w.Text) || effects.ChangesWhenReread(a.w) {
		v.changes = true
		v.markHarmful(a.i)
		v.guardedWord(a.i, a.w.Text)
	}
	v.rereadWord(a.i)
}

func (v *invocation) goFlags(a argument) {
	if !languages.GoFlags(a.w.Text) {
		v.unknown(a.i, "flags that can run a program: "+display.Display(display.ShowWord(&a.w)))
	}
}

func (v *invocation) requestMethod(a argument) {
	v.method = strings.ToUpper(a.w.Text)
	if v.method != "GET" && v.method != "HEAD" {
		v.changes, v.send = true, true
		v.markHarmful(a.i)
	}
}

func (v *invocation) gitConfig(a argument) {
	if !languages.GitSetting(a.w.Text) {
		v.unknown(a.i, "a setting of git's, which can name programs to run: "+display.Display(display.ShowWord(&a.w)))
		v.mayDo(a.i)
		if name, value, _ := strings.Cut(a.w.Text, "="); strings.HasPrefix(strings.ToLower(name), "alias.") && !a.w.Dynamic() {
			v.mayRunText("git " + value)
		}
	}
}

// runnerWords are words with the same meaning to all test runners that know them: run
// once, the amount of output, run in one process.
var runnerWords = wordset.Fields(`
	--watch=false --watchAll=false --no-watch --run --ci --silent --quiet --verbose --bail --coverage --no-coverage --passWithNoTests
	--runInBand --color --no-color --watch=0 --reporter=dot --reporter=verbose`)
