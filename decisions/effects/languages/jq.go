package languages

import (
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// JQ reports whether a jq program only computes from its input, in jq, gojq and jaq: it uses
// neither modules nor the environment.
func JQ(program string) bool { return plainJQ(program, false) }

// YQ reports whether a program for yq only computes from its input, in the yq by Mike Farah
// and in the one by Andrey Kislyuk, which passes it to jq.
func YQ(program string) bool { return plainJQ(program, true) }

func plainJQ(program string, yq bool) bool {
	if !readable(program) {
		return false
	}
	j := &jq{text: program, yq: yq, defined: map[string]bool{}, called: map[string]bool{}}
	if !j.read(0) {
		return false
	}
	for word := range j.called {
		if !j.defined[word] {
			return false
		}
	}
	return true
}

var (
	jqKeywords = wordset.Fields("if then elif else end as def reduce foreach try catch label and or not break")
	// jqFunctions only compute, print, or read more of the input.
	jqFunctions = wordset.Fields(`
		IN INDEX GROUP_BY UNIQUE_BY JOIN abs acos acosh add all any arrays ascii ascii_downcase ascii_upcase asin asinh atan atan2 atanh booleans
		bsearch capture cbrt ceil combinations contains copysign cos cosh debug del delpaths drem empty endswith erf erfc error exp exp10 exp2
		explode expm1 fabs fdim finites first flatten floor fma fmax fmin fmod format frexp from_entries fromdate fromdateiso8601 fromjson
		fromstream gamma getpath gmtime group_by gsub halt halt_error has have_decnum have_literal_numbers hypot implode in index indices
		infinite input input_filename input_line_number inputs inside isempty isfinite isinfinite isnan isnormal isvalid iterables j0 j1 jn join
		keys keys_unsorted last ldexp leaf_paths length lgamma lgamma_r limit localtime log log10 log1p log2 logb ltrim ltrimstr map
		map_values match max max_by min min_by mktime modf nan nearbyint nextafter nexttoward normals not now nth nulls numbers objects
		path paths pick pow pow10 range recurse recurse_down remainder repeat reverse rindex rint round rtrim rtrimstr scalars
		scalars_or_empty scalb scalbln scan select setpath significand sin sinh skip sort sort_by split splits sqrt startswith stderr
		strflocaltime strftime strings strptime sub tan tanh test tgamma to_entries toarray toboolean todate todateiso8601 tojson tonumber
		tostream tostring transpose trim trimstr trunc truncate_stream type unique unique_by until utf8bytelength values walk while
		with_entries y0 y1 yn true false null dateadd datesub date`)
	// yqFunctions exist only in Mike Farah's yq.
	yqFunctions = wordset.Fields(`
		to_json from_json to_yaml from_yaml to_xml from_xml to_props from_props to_csv from_csv to_tsv from_tsv to_number to_string
		sort_keys explode documentIndex document_index di filename file_index fileIndex fi line column comments comment line_comment head_comment foot_comment
		headComment lineComment footComment style tag kind anchor alias is_key key parent upcase downcase with ireduce array_to_map pivot omit
		filter from_unix to_unix tz format_datetime shuffle with_dtf root parents`)
)

// jqOther are keywords and functions that access modules or the environment. Unknown names
// are rejected too.
var jqOther = wordset.Fields("import include module env ENV __prog_args modulemeta get_search_list load strload load_str strenv envsubst eval system")

// jqFrame is an open bracket or if.
type jqFrame struct {
	end string
	// key is set if a key of an object may follow.
	key bool
}

type jq struct {
	text    string
	at      int
	yq      bool
	frames  []jqFrame
	bottom  int // number of frames around the string being read
	defined map[string]bool
	called  map[string]bool
}

// read reads tokens up to the end of the text or, within a string, up to the parenthesis
// that closes the interpolation.
func (j *jq) read(depth int) bool {
	if depth > maxNesting {
		return false
	}
	outer := j.bottom
	j.bottom = len(j.frames)
	defer func() { j.bottom = outer }()
	for j.at < len(j.text) {
		if len(j.frames) > maxNesting {
			return false
		}
		rest := j.text[j.at:]
		key := len(j.frames) > j.bottom && j.frames[len(j.frames)-1].key
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\n':
			j.at++
		case c == '#':
			line, _, _ := strings.Cut(rest, "\n")
			if j.yq || strings.Contains(line, "\\") {
				return false // some implementations continue it on the next line
			}
			j.at += len(line)
		case c == '"':
			if !j.quoted(depth) {
				return false
			}
			j.value()
		case c == '.':
			if !j.path(rest) {
				return false
			}
			j.value()
		case c == '$':
			n := name(rest[1:])
			if n == 0 || strings.HasPrefix(rest[1+n:], "::") || j.yq && strings.HasPrefix(rest, "$__") ||
				jqOther.Has(rest[1:1+n]) {
				return false
			}
			j.at += 1 + n
			j.value()
		case c == '@':
			n := name(rest[1:])
			if !jqFormats.Has(rest[1 : 1+n]) {
				return false
			}
			j.at += 1 + n
			j.value()
		case isDigit(c):
			n := number(rest)
			if n == 0 {
				return false
			}
			j.at += n
			j.value()
		case isLetter(c):
			if !j.word(rest, key) {
				return false
			}
		case c == ')' && len(j.frames) == j.bottom && depth > 0:
			return true
		default:
			if !j.sign(rest) {
				return false
			}
		}
	}
	return depth == 0 && len(j.frames) == j.bottom
}

var jqFormats = wordset.Fields("text json html uri csv tsv sh base64 base64d base32 base32d urid yaml xml props jsond yamld")

// value records a value where a key may be.
func (j *jq) value() {
	if n := len(j.frames); n > 0 {
		j.frames[n-1].key = false
	}
}

// path reads ., .., .name and a . before a string or bracket.
func (j *jq) path(rest string) bool {
	if strings.HasPrefix(rest, "..") {
		if strings.HasPrefix(rest, "....") || strings.HasPrefix(rest, "...") && !j.yq {
			return false
		}
		j.at += span(rest, func(c byte) bool { return c == '.' })
		rest = j.text[j.at:]
		return rest == "" || !isLetter(rest[0]) && !isDigit(rest[0]) && rest[0] != '"' && rest[0] != '$'
	}
	n := 1 + name(rest[1:])
	if n == 1 {
		// A name must not follow after blanks.
		after := strings.TrimLeft(rest[1:], " \t\n")
		if after != "" && (isLetter(after[0]) && len(after) < len(rest)-1 && !jqKeywords.Has(after[:name(after)]) || isDigit(after[0]) || after[0] == '.') {
			return false
		}
	}
	if j.yq && n > 1 {
		// Some implementations continue a name after a dash; to jq that is a subtraction.
		for strings.HasPrefix(rest[n:], "-") {
			m := span(rest[n+1:], func(c byte) bool { return isLetter(c) || isDigit(c) })
			if m == 0 || jqOther.Has(rest[n+1:n+1+m]) {
				return false
			}
			n += 1 + m
		}
		if n < len(rest) && strings.IndexByte(" \t\n.[](){},|?=:;", rest[n]) < 0 {
			return false
		}
	}
	j.at += n
	return true
}

// word reads a keyword, a key or the name of a function.
func (j *jq) word(rest string, key bool) bool {
	word := rest[:name(rest)]
	after := strings.TrimLeft(rest[len(word):], " \t\n")
	if strings.HasPrefix(after, "::") {
		return false
	}
	if key {
		// {name: …}, {name}
		if after == "" || strings.IndexByte(":,}", after[0]) < 0 || j.yq && jqOther.Has(word) {
			return false
		}
		j.at += len(word)
		j.value()
		return true
	}
	if jqOther.Has(word) {
		return false
	}
	j.at += len(word)
	switch {
	case word == "if":
		j.frames = append(j.frames, jqFrame{end: "end"})
	case word == "end":
		return j.close("end")
	case word == "def":
		return !j.yq && j.definition()
	case jqKeywords.Has(word), jqFunctions.Has(word), j.yq && yqFunctions.Has(word):
	default:
		j.called[word] = true
	}
	return true
}

// definition reads the head of a function: its name and parameters, which are functions
// too. In an object, the comma after its body would be misread.
func (j *jq) definition() bool {
	for i := range j.frames {
		if j.frames[i].end == "}" {
			return false
		}
	}
	j.at += span(j.text[j.at:], func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' })
	head, _, ok := strings.Cut(j.text[j.at:], ":")
	if !ok {
		return false
	}
	function, list, _ := strings.Cut(head, "(")
	list = strings.TrimSpace(list)
	names := []string{strings.TrimSpace(function)}
	if list != "" {
		inside, ok := strings.CutSuffix(list, ")")
		if !ok {
			return false
		}
		names = append(names, strings.Split(inside, ";")...)
	}
	for _, word := range names {
		word = strings.TrimPrefix(strings.TrimSpace(word), "$")
		if word == "" || name(word) != len(word) || jqKeywords.Has(word) || jqOther.Has(word) {
			return false
		}
		j.defined[word] = true
	}
	j.at += len(head) + 1
	return true
}

// sign reads an operator or bracket.
func (j *jq) sign(rest string) bool {
	c := rest[0]
	j.at++
	switch c {
	case '(', '[':
		j.value()
		j.frames = append(j.frames, jqFrame{end: map[byte]string{'(': ")", '[': "]"}[c]})
		return true
	case '{':
		j.value()
		j.frames = append(j.frames, jqFrame{end: "}", key: true})
		return true
	case ')', ']', '}':
		return j.close(rest[:1])
	case ',':
		if n := len(j.frames); n > 0 && j.frames[n-1].end == "}" {
			j.frames[n-1].key = true
		}
		return true
	case '!':
		return strings.HasPrefix(rest, "!=")
	}
	return strings.IndexByte("|=<>+-*/%?:;", c) >= 0
}

func (j *jq) close(end string) bool {
	n := len(j.frames)
	if n <= j.bottom || j.frames[n-1].end != end {
		return false
	}
	j.frames = j.frames[:n-1]
	return true
}

// quoted reads a string with its interpolated programs.
func (j *jq) quoted(depth int) bool {
	for j.at++; j.at < len(j.text); j.at++ {
		switch j.text[j.at] {
		case '"':
			j.at++
			return true
		case '\n':
			return false
		case '\\':
			j.at++
			if j.at >= len(j.text) {
				return false
			}
			switch c := j.text[j.at]; {
			case c == '(':
				begin := j.at
				j.at++
				if !j.read(depth+1) || j.at >= len(j.text) {
					return false
				}
				// yq ends a string at the first quote.
				if j.yq && strings.ContainsAny(j.text[begin:j.at], "\"\\") {
					return false
				}
			case strings.IndexByte(`"\/bfnrtu`, c) < 0:
				return false
			}
		}
	}
	return false
}
