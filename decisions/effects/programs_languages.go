package effects

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/permd/permd/decisions/effects/languages"
)

// maxDatabase is the size up to which a database is looked into, in bytes; of a
// larger one it is not known whether SQLite keeps a log beside it.
const maxDatabase = 4 << 20

// language checks a word that is a program in a language of its own.
func (v *invocation) language(does act, i int, w word) {
	switch does {
	case actSed:
		if !languages.Sed(w.text) {
			v.unknown(i, "a sed script that may write or run something")
		}
	case actAwk:
		v.awk(i, w)
	case actJQ:
		if !languages.JQ(w.text) {
			v.unknown(i, "a program that may read files or the environment")
		}
	case actYQ:
		v.yq(i, w)
	case actGitFormat:
		if !languages.GitFormat(w.text) {
			v.unknown(i, "a format for which git runs a program that checks signatures")
		}
	case actGitSort:
		if !languages.GitSort(w.text) {
			v.unknown(i, "a key for which git may run a program that checks signatures")
		}
	case actColumns:
		if !processColumns(w.text) {
			v.unknown(i, "a column that permd does not know, such as the environment: "+Display(showWord(&w)))
		}
	}
}

// awk checks an awk program and the words behind it. Some implementations take
// options there, others files; gawk takes files below /inet for connections.
func (v *invocation) awk(i int, w word) {
	if !languages.Awk(w.text) {
		v.unknown(i, "an awk program that may read, write or run something")
	}
	for j := i + 1; j < len(v.args); j++ {
		switch text := v.args[j].text; {
		case v.args[j].dynamic(), text == "-":
		case strings.HasPrefix(text, "-"):
			v.unknown(j, "an option behind the program of awk, which some take for a file")
		case strings.HasPrefix(text, "/inet"):
			v.unknown(j, "a file that gawk takes for a connection")
		}
	}
}

// yq checks a program for yq. One that is the name of a file is taken for that:
// yq .env prints it.
func (v *invocation) yq(i int, w word) {
	if !languages.YQ(w.text) {
		v.unknown(i, "a program that may read files or the environment")
		return
	}
	if v.mayBeFile(w.text) {
		v.b.add(v.via(i, v.b.operand(KindRead, w.text, v.run.Cwd, v.at.from)))
	}
}

// mayBeFile reports whether a word that is no path may be that of a file, now or
// when the run begins.
func (v *invocation) mayBeFile(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if len(part) > maxName {
			return false
		}
	}
	if v.run.Cwd == "" {
		return true
	}
	e := v.b.operand(KindRead, text, v.run.Cwd, v.at.from)
	if e.File == nil || v.b.stale(e.File.Path) {
		return true
	}
	mode, err := v.b.fs.Lstat(e.File.Path)
	return err == nil && !mode.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// sql handles SQL for SQLite, and the commands of its shell: what is not known
// to only look may write the database, and run programs unless -safe forbids it.
// An option that holds some is done before the options behind it count.
func (v *invocation) sql(i int, w word, option bool) {
	switch {
	case strings.HasPrefix(w.text, "."):
		if !languages.SQLiteCommand(w.text) {
			v.unknown(i, "a command of sqlite3 that can write files or run programs: "+Display(showWord(&w)))
			return
		}
	case !languages.SQL(w.text):
		v.changes = true
		v.harm(i)
		if !v.has([]string{"-safe"}) {
			v.unknown(i, "SQL that can reach other files or run code")
			return
		}
	}
	if option && !v.has([]string{"-safe"}) {
		v.unknown(i, "SQL that runs before -safe counts")
	}
}

// database handles the file of a database. Only read, and with what its own
// views may do turned off, it is as harmless as its file is: a journal or log
// beside it is written into it, or begun.
func (v *invocation) database(i int, w word) {
	if w.text == ":memory:" || w.text == "" {
		return
	}
	if why := noFile(actDatabase, w.text); why != "" {
		v.unknown(i, why+": "+Display(showWord(&w)))
		return
	}
	v.applyPath(actReads, i, w, false)
	if w.dynamic() || w.glob {
		return
	}
	if !v.has([]string{"-readonly"}) {
		v.changes = true
		v.b.add(v.via(i, v.b.operand(KindWrite, w.text, v.run.Cwd, v.at.from)))
	}
	if !v.has([]string{"-safe"}) {
		v.unknown(i, "a database whose views and triggers may run programs: only with -safe -readonly they do not")
		return
	}
	if v.changes {
		return
	}
	if why := v.restless(w); why != "" {
		v.unknown(i, why)
	}
}

// restless says why reading a database may write something, "" when it does not.
func (v *invocation) restless(w word) string {
	e := v.b.operand(KindRead, w.text, v.run.Cwd, v.at.from)
	if e.File == nil {
		return "a database at a path that is not known"
	}
	for _, file := range []string{e.File.Path, e.File.Path + "-journal", e.File.Path + "-wal", e.File.Path + "-shm"} {
		if v.b.writes(file) || v.b.stale(file) {
			return "a database that an earlier part of the call, or an earlier call, writes"
		}
		if file == e.File.Path {
			continue
		}
		if _, err := v.b.fs.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return "a database with a journal beside it, which reading it may write into it"
		}
	}
	data, err := v.b.fs.ReadFile(e.File.Path, maxDatabase)
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
