package pattern

import (
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// parseRun reads the words of a run line with the quoting of a shell: single
// and double quotes and the backslash. Anything else with a meaning to a shell
// is refused, since a line names one program.
func parseRun(line string) (*Run, *refusal) {
	words, r := splitWords(line)
	if r != nil {
		return nil, r
	}
	program, ok := words[0].Literal()
	switch {
	case !ok:
		return nil, refuse("name the program, such as \"go test *\"", "the program must not have a *")
	case program == "":
		return nil, refuse("", "the program is empty")
	case strings.HasPrefix(program, "-"):
		return nil, refuse("begin with the program's name", "the line begins with an option")
	case strings.Contains(program, "="):
		return nil, refuse("leave the assignment out; environment is an effect of its own", "the line begins with an assignment")
	}
	run := &Run{}
	if run.Program, r = normalProgram(program); r != nil {
		return nil, r
	}
	words = words[1:]
	for i, w := range words {
		lit, literal := w.Literal()
		switch {
		case literal && lit == effects.DynamicWord:
			return nil, refuse("", "the word %d cannot be written down", i+1)
		case run.Rest:
			if r = run.name(w, i); r != nil {
				return nil, r
			}
			continue
		case !literal && len(w) == 2 && w[0] == "" && w[1] == "":
			run.Rest = true
			continue
		case !literal && hasEmptyMiddle(w):
			return nil, refuse("use one *", "** is for paths only")
		case !literal && strings.HasPrefix(w[0], "-") && !strings.Contains(w[0], "="):
			return nil, refuse("write the option out; a * may stand after its =", "an option's name must not have a *")
		}
		run.Words = append(run.Words, w)
	}
	return run, nil
}

// normalProgram converts the program word to the form used for matching: a bare
// name, or a path as in path lines. A relative path is relative to the
// project's root.
func normalProgram(program string) (string, *refusal) {
	if !strings.Contains(program, "/") {
		if program == "." || program == ".." || program == "~" {
			return "", refuse("name a program", "%q is no program", program)
		}
		return program, nil
	}
	if !strings.HasPrefix(program, "/") && !strings.HasPrefix(program, "./") && !strings.HasPrefix(program, "~/") {
		program = "./" + program
	}
	base, rest := splitBase(program)
	var parts []string
	for part := range strings.SplitSeq(rest, "/") {
		switch part {
		case "", ".":
		case "..":
			return "", refuse("write the path without ..", "the program's path has a ..")
		default:
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 || strings.HasSuffix(rest, "/") {
		return "", refuse("name a file", "the program is a folder")
	}
	return string(base) + strings.Join(parts, "/"), nil
}

func hasEmptyMiddle(w Glob) bool {
	for _, piece := range w[1 : len(w)-1] {
		if piece == "" {
			return true
		}
	}
	return false
}

// Characters with a meaning to a shell outside quotes, and inside double
// quotes.
const (
	shellMeta  = "|&;<>()$`"
	quotedMeta = "$`"
)

// splitWords splits a line into words; there is at least one.
func splitWords(line string) ([]Glob, *refusal) {
	s := wordScanner{in: line}
	for s.in != "" {
		if r := s.step(); r != nil {
			return nil, r
		}
	}
	s.end()
	if len(s.words) == 0 {
		return nil, refuse("", "the line has no words")
	}
	return s.words, nil
}

type wordScanner struct {
	in    string
	words []Glob
	word  Glob // nil between words
	brace bool // an unquoted { was seen in this word
}

func (s *wordScanner) end() {
	if s.word != nil {
		s.words = append(s.words, s.word)
	}
	s.word, s.brace = nil, false
}

func (s *wordScanner) put(text string) {
	if s.word == nil {
		s.word = Glob{""}
	}
	s.word[len(s.word)-1] += text
}

func (s *wordScanner) step() *refusal {
	c := s.in[0]
	s.in = s.in[1:]
	switch {
	case c == ' ':
		s.end()
	case c == '*':
		s.put("")
		s.word = append(s.word, "")
	case c == '\\':
		if s.in == "" {
			return refuse("", "the line ends with a backslash")
		}
		s.put(s.in[:1])
		s.in = s.in[1:]
	case c == '\'':
		text, rest, ok := strings.Cut(s.in, "'")
		if !ok {
			return refuse("", "a single quote is not closed")
		}
		s.put(text)
		s.in = rest
	case c == '"':
		return s.doubleQuoted()
	case strings.IndexByte(shellMeta, c) >= 0:
		return refuse("write one program with its words, and quote what is meant as text",
			"%q means something to a shell, and a line names one run", c)
	case c == '#' && s.word == nil:
		return refuse("quote the word", "a word begins with #")
	case c == '~' && s.word == nil && len(s.words) > 0:
		return refuse("write the absolute path, or quote the ~", "a shell would replace the ~")
	case c == ',' && s.brace:
		return refuse("write a line for each", "a shell would expand the braces")
	default:
		s.brace = s.brace || c == '{'
		s.put(string([]byte{c}))
	}
	return nil
}

func (s *wordScanner) doubleQuoted() *refusal {
	s.put("")
	for s.in != "" {
		c := s.in[0]
		s.in = s.in[1:]
		switch {
		case c == '"':
			return nil
		case c == '\\' && s.in != "" && strings.IndexByte("\\\"$`", s.in[0]) >= 0:
			s.put(s.in[:1])
			s.in = s.in[1:]
		case strings.IndexByte(quotedMeta, c) >= 0:
			return refuse("use single quotes", "a shell would replace what follows %q", c)
		default:
			s.put(string([]byte{c}))
		}
	}
	return refuse("", "a double quote is not closed")
}

// quoteWord prints a word so that splitWords reads it back.
func quoteWord(w Glob) string {
	out := make([]string, len(w))
	for i, piece := range w {
		out[i] = quotePiece(piece)
	}
	if lit, ok := w.Literal(); ok && lit == "" {
		return "''"
	}
	return strings.Join(out, "*")
}

func quotePiece(s string) string {
	plain := func(c rune) bool {
		return c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("_-+=:./@%^,", c))
	}
	if strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
