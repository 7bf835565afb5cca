package languages

import (
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// SQL reports whether a text is one or more statements for SQLite that only read: SELECT,
// VALUES, WITH before one of these, EXPLAIN of one, and pragmas that return something. All
// functions in it only compute. The database's own views are not checked.
func SQL(text string) bool {
	if !readable(text) {
		return false
	}
	tokens, ok := sqlTokens(text)
	if !ok {
		return false
	}
	some := false
	for len(tokens) > 0 {
		n := 0
		for n < len(tokens) && tokens[n].text != ";" {
			n++
		}
		if n > 0 {
			some = true
			if !sqlStatement(tokens[:n]) {
				return false
			}
		}
		tokens = tokens[min(n+1, len(tokens)):]
	}
	return some
}

// SQLiteCommand reports whether a command of the sqlite3 shell, which begins with a dot, only
// shows data of the database.
func SQLiteCommand(text string) bool {
	verb, rest, _ := strings.Cut(text, " ")
	if !sqliteCommands.Has(verb) {
		return false
	}
	return span(rest, func(c byte) bool {
		return isLetter(c) || isDigit(c) || c == ' ' || c == '%' || c == '-'
	}) == len(rest)
}

var sqliteCommands = wordset.Fields(".tables .schema .indexes .indices .databases .fullschema .dump .headers .header .mode .help .show .stats .dbinfo .width .nullvalue")

// sqlToken is a token; names are folded.
type sqlToken struct {
	text string
	kind sqlKind
}

type sqlKind byte

const (
	sqlWord sqlKind = iota // a name or keyword
	sqlName                // a quoted name, or a string, which is a name in some contexts
	sqlNumber
	sqlSign
)

func sqlTokens(text string) ([]sqlToken, bool) {
	var tokens []sqlToken
	depth := 0
	for i := 0; i < len(text); {
		rest := text[i:]
		c := rest[0]
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			// A dot at the beginning of a line of a script is a command.
			if next := strings.TrimLeft(rest, " \t\n"); c == '\n' && next != "" && next[0] == '.' {
				return nil, false
			}
			i++
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			i += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return nil, false
			}
			i += n + 4
		case c == '\'' || c == '"' || c == '`' || c == '[':
			inner, n := sqlQuoted(rest)
			if n < 0 {
				return nil, false
			}
			tokens = append(tokens, sqlToken{strings.ToLower(inner), sqlName})
			i += n
		case isLetter(c):
			n := name(rest)
			if n < len(rest) && (rest[n] == '$' || rest[n] >= 0x80) {
				return nil, false // the rest of the name
			}
			tokens = append(tokens, sqlToken{strings.ToLower(rest[:n]), sqlWord})
			i += n
		case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
			n := number(rest)
			if n == 0 {
				return nil, false
			}
			tokens = append(tokens, sqlToken{rest[:n], sqlNumber})
			i += n
		case strings.IndexByte("().,;+-*/%<>=!|&~", c) >= 0:
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth < 0 || depth > maxNesting {
				return nil, false
			}
			tokens = append(tokens, sqlToken{rest[:1], sqlSign})
			i++
		default:
			return nil, false // a parameter, or no character of SQL
		}
	}
	return tokens, depth == 0
}

// sqlQuoted returns the quoted text at the beginning of text, and its length, -1 if the quote
// is not closed. Doubled quotes are kept.
func sqlQuoted(text string) (string, int) {
	end := text[0]
	if end == '[' {
		n := strings.IndexByte(text, ']')
		if n < 0 {
			return "", -1
		}
		return text[1:n], n + 1
	}
	for i := 1; i < len(text); i++ {
		if text[i] != end {
			continue
		}
		if i+1 < len(text) && text[i+1] == end {
			i++
			continue
		}
		return text[1:i], i + 1
	}
	return "", -1
}

func sqlStatement(tokens []sqlToken) bool {
	if tokens[0].kind != sqlWord {
		return false
	}
	switch tokens[0].text {
	case "pragma":
		return sqlPragma(tokens[1:])
	case "explain":
		tokens = tokens[1:]
		if len(tokens) > 2 && tokens[0].text == "query" && tokens[1].text == "plan" {
			tokens = tokens[2:]
		}
		if len(tokens) == 0 || tokens[0].text == "explain" || tokens[0].text == "pragma" {
			return false
		}
		return sqlStatement(tokens)
	}
	defined := map[int]bool{}
	return sqlQuery(tokens, 0, defined) && sqlCalls(tokens, defined)
}

// sqlQuery reports whether a query begins at i, possibly after a WITH clause whose tables are
// queries. It records which of these tables have column names.
func sqlQuery(tokens []sqlToken, i int, defined map[int]bool) bool {
	word := func(text string) bool {
		if i < len(tokens) && tokens[i].text == text && (tokens[i].kind == sqlWord || tokens[i].kind == sqlSign) {
			i++
			return true
		}
		return false
	}
	if word("with") {
		word("recursive")
		for more := true; more; more = word(",") {
			if i >= len(tokens) || tokens[i].kind != sqlWord && tokens[i].kind != sqlName {
				return false
			}
			i++
			if i < len(tokens) && tokens[i].text == "(" && tokens[i].kind == sqlSign {
				defined[i-1] = true
				i = sqlClose(tokens, i)
			}
			if !word("as") {
				return false
			}
			if word("not") && (i >= len(tokens) || tokens[i].text != "materialized") {
				return false
			}
			word("materialized")
			if i+1 >= len(tokens) || tokens[i].text != "(" || tokens[i].kind != sqlSign || !sqlQuery(tokens, i+1, defined) {
				return false
			}
			i = sqlClose(tokens, i)
		}
	}
	return i < len(tokens) && tokens[i].kind == sqlWord && (tokens[i].text == "select" || tokens[i].text == "values")
}

// sqlClose returns the index after the parenthesis that closes the one at i.
func sqlClose(tokens []sqlToken, i int) int {
	depth := 0
	for ; i < len(tokens); i++ {
		if tokens[i].kind != sqlSign {
			continue
		}
		switch tokens[i].text {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

// sqlCalls reports whether all functions only compute, no table accesses files, and no
// keyword occurs that only statements with side effects have.
func sqlCalls(tokens []sqlToken, defined map[int]bool) bool {
	for i, t := range tokens {
		if t.kind != sqlWord && t.kind != sqlName {
			continue
		}
		calls := i+1 < len(tokens) && tokens[i+1].kind == sqlSign && tokens[i+1].text == "("
		switch {
		case sqlVirtualTables.Has(t.text), strings.HasPrefix(t.text, "pragma_") && !sqlReadOnlyPragmas.Has(t.text[len("pragma_"):]):
			return false
		case calls && defined[i]:
		case t.kind == sqlName && calls:
			// After a keyword it is a string, as in x IN ('a') or a list.
			return false
		case t.kind == sqlWord && calls && !sqlFunctions.Has(t.text):
			return false
		case t.kind == sqlWord && !calls && sqlChanging.Has(t.text):
			return false
		}
	}
	return true
}

func sqlPragma(tokens []sqlToken) bool {
	if len(tokens) > 2 && tokens[1].text == "." {
		tokens = tokens[2:] // with the database's name
	}
	if len(tokens) == 0 || tokens[0].kind != sqlWord {
		return false
	}
	switch verb := tokens[0].text; {
	case len(tokens) == 1:
		return sqlReadOnlyPragmas.Has(verb) || sqlValuePragmas.Has(verb)
	case len(tokens) == 4:
		return sqlReadOnlyPragmas.Has(verb) && tokens[1].text == "(" && tokens[2].kind != sqlSign && tokens[3].text == ")"
	}
	return false
}

var (
	// sqlReadOnlyPragmas are pragmas that only return something, even with an argument.
	sqlReadOnlyPragmas = wordset.Fields(`table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check integrity_check quick_check
		database_list collation_list compile_options function_list module_list pragma_list`)
	// sqlValuePragmas are pragmas that only return something if they have no argument.
	sqlValuePragmas = wordset.Fields("user_version application_id schema_version page_count page_size freelist_count encoding journal_mode foreign_keys auto_vacuum")
	// sqlVirtualTables are tables that are not in the database.
	sqlVirtualTables = wordset.Fields("fsdir fstree zipfile sqlite_dbpage lsmode")
	sqlChanging      = wordset.Fields("insert update delete replace attach detach vacuum create drop alter pragma returning reindex analyze begin commit rollback savepoint release")
	// sqlFunctions are the functions, and the keywords, that may precede a parenthesis.
	sqlFunctions = wordset.Fields(`
		abs acos acosh asin asinh atan atan2 atanh avg bm25 cast ceil ceiling changes char coalesce concat concat_ws cos cosh count cume_dist
		date datetime degrees dense_rank exp first_value floor format generate_series glob group_concat hex highlight ifnull iif instr
		json json_array json_array_length json_each json_error_position json_extract json_group_array json_group_object json_object
		json_patch json_pretty json_quote json_remove json_replace json_set json_insert json_tree json_type json_valid jsonb julianday
		lag last_insert_rowid last_value lead length like likelihood likely ln log log10 log2 lower ltrim max min mod nth_value ntile nullif
		octet_length percent_rank pi pow power printf quote radians random randomblob rank replace round row_number rtrim sign sin sinh
		snippet soundex sqlite_source_id sqlite_version sqrt strftime string_agg substr substring subtype sum tan tanh time timediff total
		total_changes trim trunc typeof unhex unicode unixepoch unlikely upper zeroblob
		pragma_table_info pragma_table_xinfo pragma_table_list pragma_index_list pragma_index_info pragma_index_xinfo pragma_foreign_key_list
		pragma_database_list pragma_compile_options
		all and as between by case distinct else except exists filter from having in intersect is join limit match not offset on or order over
		partition regexp rows select set then union using values when where escape materialized collate`)
)
