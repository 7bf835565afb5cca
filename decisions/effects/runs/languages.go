package runs

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/languages"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
)

// maxDatabase is the maximum size of a database that is examined, in bytes; for a
// larger one it is not known whether SQLite keeps a log next to it.
const maxDatabase = 4 << 20

// language checks a word that is a program in a language of its own.
func (v *invocation) language(role programs.Role, i int, w effects.Word) {
	switch role {
	case programs.RoleSed:
		if !languages.Sed(w.Text) {
			v.unknown(i, "a sed script that may write or run something")
		}
	case programs.RoleAwk:
		v.awk(i, w)
	case programs.RoleJQ:
		if !languages.JQ(w.Text) {
			v.unknown(i, "a program that may read files or the environment")
		}
	case programs.RoleYQ:
		v.yq(i, w)
	case programs.RoleGitFormat:
		if !languages.GitFormat(w.Text) {
			v.unknown(i, "a format for which git runs a program that checks signatures")
		}
	case programs.RoleGitSort:
		if !languages.GitSort(w.Text) {
			v.unknown(i, "a key for which git may run a program that checks signatures")
		}
	case programs.RoleColumns:
		if !languages.Columns(w.Text) {
			v.unknown(i, "a column that permd does not know, such as the environment: "+display.Display(display.ShowWord(&w)))
		}
	}
}

// awk checks an awk program and the words after it. Some implementations accept options
// there, others files; gawk opens connections for paths below /inet.
func (v *invocation) awk(i int, w effects.Word) {
	if !languages.Awk(w.Text) {
		v.unknown(i, "an awk program that may read, write or run something")
	}
	for j := i + 1; j < len(v.args); j++ {
		switch text := v.args[j].Text; {
		case v.args[j].Dynamic(), text == "-":
		case strings.HasPrefix(text, "-"):
			v.unknown(j, "an option behind the program of awk, which some take for a file")
		case strings.HasPrefix(text, "/inet"):
			v.unknown(j, "a file that gawk takes for a connection")
		}
	}
}

// yq checks a program for yq. If a file of that name exists, yq takes the word for
// that: yq .env prints it.
func (v *invocation) yq(i int, w effects.Word) {
	if !languages.YQ(w.Text) {
		v.unknown(i, "a program that may read files or the environment")
		return
	}
	if v.mayBeFile(w.Text) {
		v.b.Add(v.via(i, v.b.Operand(effects.KindRead, w.Text, v.run.Cwd, v.at.From)))
	}
}

// mayBeFile reports whether a word that is no path may name a file, now or when the run
// begins.
func (v *invocation) mayBeFile(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if len(part) > paths.MaxName {
			return false
		}
	}
	if v.run.Cwd == "" {
		return true
	}
	e := v.b.Operand(effects.KindRead, text, v.run.Cwd, v.at.From)
	if e.File == nil || v.b.Stale(e.File.Path) {
		return true
	}
	mode, err := v.b.FS.Lstat(e.File.Path)
	return err == nil && !mode.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// sql handles SQL for SQLite, and the commands of its shell: statements that are not
// known to only read may write the database, and run programs unless -safe forbids it.
// An option that contains some is executed before the options after it count.
func (v *invocation) sql(i int, w effects.Word, option bool) {
	switch {
	case strings.HasPrefix(w.Text, "."):
		if !languages.SQLiteCommand(w.Text) {
			v.unknown(i, "a command of sqlite3 that can write files or run programs: "+display.Display(display.ShowWord(&w)))
			return
		}
	case !languages.SQL(w.Text):
		v.changes = true
		v.markHarmful(i)
		if !v.has([]string{"-safe"}) {
			v.unknown(i, "SQL that can reach other files or run code")
			return
		}
	}
	if option && !v.has([]string{"-safe"}) {
		v.unknown(i, "SQL that runs before -safe counts")
	}
}

// database handles a database file. If it is only read, and its own views are
// restricted, it is as harmless as any file that is read, except that a journal or log
// next to it may be written.
func (v *invocation) database(i int, w effects.Word) {
	if w.Text == ":memory:" || w.Text == "" {
		return
	}
	if why := whyNoFile(programs.RoleDatabase, w.Text); why != "" {
		v.unknown(i, why+": "+display.Display(display.ShowWord(&w)))
		return
	}
	v.applyPath(programs.RoleReads, i, w, false)
	if w.Dynamic() || w.Glob {
		return
	}
	if !v.has([]string{"-readonly"}) {
		v.changes = true
		v.b.Add(v.via(i, v.b.Operand(effects.KindWrite, w.Text, v.run.Cwd, v.at.From)))
	}
	if !v.has([]string{"-safe"}) {
		v.unknown(i, "a database whose views and triggers may run programs: only with -safe -readonly they do not")
		return
	}
	if v.changes {
		return
	}
	if why := v.writesWhenRead(w); why != "" {
		v.unknown(i, why)
	}
}

// writesWhenRead returns why reading a database may write something, "" if it does not.
func (v *invocation) writesWhenRead(w effects.Word) string {
	e := v.b.Operand(effects.KindRead, w.Text, v.run.Cwd, v.at.From)
	if e.File == nil {
		return "a database at a path that is not known"
	}
	for _, file := range []string{e.File.Path, e.File.Path + "-journal", e.File.Path + "-wal", e.File.Path + "-shm"} {
		if v.b.Writes(file) || v.b.Stale(file) {
			return "a database that an earlier part of the call, or an earlier call, writes"
		}
		if file == e.File.Path {
			continue
		}
		if _, err := v.b.FS.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return "a database with a journal beside it, which reading it may write into it"
		}
	}
	data, err := v.b.FS.ReadFile(e.File.Path, maxDatabase)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "" // it is not created
	case err != nil:
		return "a database that permd cannot look into, or that is too large for that"
	case len(data) < 20 || !strings.HasPrefix(string(data[:16]), "SQLite format 3\x00") || data[18] != 1 || data[19] != 1:
		return "no database, or one with a log, which reading it begins"
	}
	return ""
}
