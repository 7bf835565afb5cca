package effects

import (
	"strings"
	"unicode"
)

// plainJQ reports whether a jq or yq program only computes from its input: it
// reads no module, file or variable of the environment, and yq's runs nothing.
// Strings count as well, which only asks too often.
func plainJQ(program string) bool {
	for name, key := range names(program) {
		switch name {
		case "env", "ENV", "strenv", "envsubst", "import", "include", "load", "load_str", "load_xml", "load_props", "load_base64", "system", "eval",
			"modulemeta", "get_search_list":
			if !key || name == "ENV" {
				return false
			}
		}
	}
	return true
}

// names yields the identifiers of a text, and whether each is the key of an
// object (.name), which calls nothing.
func names(text string) func(yield func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		start := -1
		for i, c := range text + " " {
			in := c == '_' || unicode.IsLetter(c) || start >= 0 && unicode.IsDigit(c)
			switch {
			case in && start < 0:
				start = i
			case !in && start >= 0:
				if !yield(text[start:i], start > 0 && text[start-1] == '.' && !strings.HasSuffix(text[:start], "..")) {
					return
				}
				start = -1
			}
		}
	}
}

// sql handles SQL for SQLite, and the commands of its shell: what is not known
// to only look may write the database, and some run programs.
func (v *invocation) sql(i int, w word) {
	text := strings.TrimSpace(w.text)
	if strings.HasPrefix(text, ".") {
		verb, _, _ := strings.Cut(text, " ")
		for _, plain := range []string{".tables", ".schema", ".indexes", ".databases", ".dbinfo", ".stats", ".fullschema", ".dump"} {
			if verb == plain && !strings.ContainsAny(text, "\n;|>") {
				return
			}
		}
		v.unknown(i, "a command of sqlite3 that can write files or run programs: "+Display(w.show()))
		return
	}
	if plainSQL(text) {
		return
	}
	v.changes = true
	v.harm(i)
	if reachesOut(text) {
		v.unknown(i, "SQL that can reach other files or run code")
		return
	}
	if len(v.operands) > 0 && v.operands[0] != i && !v.args[v.operands[0]].dynamic() {
		v.b.add(v.via(i, v.b.operand(KindWrite, v.args[v.operands[0]].text, v.run.Cwd, v.at.from)))
	}
}

// sqlFunctions are the functions and keywords that may stand before a bracket
// in a query that only looks.
var sqlFunctions = wordSet(`
	abs avg cast ceil coalesce concat count cume_dist date datetime dense_rank exists first_value floor format
	glob group_concat hex ifnull iif in instr json json_array json_array_length json_each json_extract
	json_group_array json_group_object json_object json_tree json_type julianday lag last_value lead length like likely lower ltrim
	max min ntile nullif over partition percent_rank pragma_table_info printf quote rank replace round row_number
	rtrim sign strftime string_agg substr substring sum time total trim typeof unicode unixepoch unlikely upper values
	and or not as on where having by from join using then when else select distinct union all except intersect filter between case`)

// sqlReaches are the functions and tables through which SQL gets at other files
// or runs code.
var sqlReaches = wordSet("load_extension writefile readfile edit attach fsdir vacuum zipfile eval sqlite_dbpage lsmode")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// reachesOut reports whether SQL names something of sqlReaches.
func reachesOut(text string) bool {
	for name := range names(strings.ToLower(text)) {
		if sqlReaches[name] {
			return true
		}
	}
	return false
}

// plainSQL reports whether SQL is one or more queries that only look.
func plainSQL(text string) bool {
	for statement := range strings.SplitSeq(text, ";") {
		statement = strings.TrimSpace(strings.ToLower(statement))
		if statement == "" {
			continue
		}
		verb, rest, _ := strings.Cut(statement, " ")
		switch verb {
		case "select", "explain", "values":
		case "with":
			for name := range names(statement) {
				switch name {
				case "insert", "update", "delete":
					return false
				}
			}
		case "pragma":
			pragma, _, _ := strings.Cut(strings.TrimSpace(rest), "(")
			switch pragma {
			case "table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list", "database_list", "integrity_check",
				"quick_check", "user_version", "page_count", "page_size", "compile_options":
				continue
			}
			return false
		default:
			return false
		}
		if strings.HasPrefix(statement, "explain") && !strings.Contains(statement, "select") || !plainCalls(statement) {
			return false
		}
	}
	return strings.TrimSpace(text) != "" && !reachesOut(text)
}

// plainCalls reports whether all that stands before an opening bracket is a
// function that only computes.
func plainCalls(statement string) bool {
	for i := range len(statement) {
		if statement[i] != '(' {
			continue
		}
		before := strings.TrimRight(statement[:i], " \n\t")
		name := before[strings.LastIndexFunc(before, func(c rune) bool {
			return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
		})+1:]
		if name == "" && strings.HasSuffix(before, "\"") || name == "" && strings.HasSuffix(before, "`") || name == "" && strings.HasSuffix(before, "]") {
			return false // a quoted name of a function
		}
		if name != "" && !sqlFunctions[name] {
			return false
		}
	}
	return true
}

// runnerWords mean the same to all runners of tests that know them: once and
// not again and again, more or less output, all in one process.
var runnerWords = wordSet(`
	--watch=false --watchAll=false --no-watch --run --ci --silent --quiet --verbose --bail --coverage --no-coverage --passWithNoTests
	--runInBand --color --no-color --watch=0 --reporter=dot --reporter=verbose`)

// harmlessGitConfig reports whether a setting for one run of git only changes
// what its output looks like. A value of a pager or editor is a program.
func harmlessGitConfig(setting string) bool {
	key, value, _ := strings.Cut(setting, "=")
	key = strings.ToLower(key)
	switch key {
	case "core.quotepath", "core.abbrev", "core.commentchar", "log.date", "log.decorate", "log.abbrevcommit", "diff.noprefix", "diff.mnemonicprefix",
		"diff.renames", "diff.renamelimit", "diff.context", "diff.algorithm", "diff.colormoved", "status.short", "status.branch",
		"status.showuntrackedfiles", "status.relativepaths", "init.defaultbranch", "merge.conflictstyle", "column.ui", "grep.linenumber",
		"core.autocrlf", "core.safecrlf", "core.preloadindex", "core.untrackedcache", "index.threads", "pack.threads", "gc.auto",
		"rerere.enabled":
		return true
	case "core.pager", "pager.log", "pager.diff", "pager.show", "pager.branch", "pager.status", "pager.blame", "pager.tag", "pager.stash":
		return value == "cat" || value == "" && strings.Contains(setting, "=") || value == "false"
	case "core.editor", "sequence.editor":
		return value == "true" || value == ":"
	case "commit.gpgsign", "tag.gpgsign", "log.showsignature", "core.fsmonitor":
		return value == "false"
	}
	return strings.HasPrefix(key, "color.") || strings.HasPrefix(key, "advice.")
}
