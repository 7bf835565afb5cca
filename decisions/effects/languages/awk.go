package languages

import "github.com/permd/permd/internal/wordset"

// Awk reports whether an awk program only computes from its input and prints to standard
// output, in gawk, mawk, the original awk and that of busybox. It contains no redirection,
// pipe, getline, command, include or indirect call, has no access to the environment or
// the list of files, and all implementations agree on its >, , / and quotes.
func Awk(program string) bool {
	if !readable(program) {
		return false
	}
	p := &awk{text: program, functions: map[string]bool{}, called: map[string]bool{}, variables: map[string]bool{}}
	p.next()
	if !p.program() || p.tok != awkEnd {
		return false
	}
	for word := range p.called {
		if !p.functions[word] {
			return false // a name of an extension or of one implementation
		}
	}
	for word := range p.functions {
		if p.variables[word] {
			return false
		}
	}
	return true
}

// plainAwkName reports whether a name is a variable in all implementations and
// gives no access to the environment, the operands or other functions.
func plainAwkName(name string) bool {
	return !awkKeywords.Has(name) && !awkFunctions.Has(name) && !awkOther.Has(name)
}

var (
	awkKeywords = wordset.Fields(`BEGIN END function if else while for do break continue return next nextfile exit delete in print printf`)
	// awkFunctions only compute.
	awkFunctions = wordset.Fields(`
		length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand tolower toupper
		gensub strftime systime mktime patsplit strtonum and or xor lshift rshift compl isarray typeof`)
	// awkOther are words that are more than a variable in some implementation. The first
	// ones access files, commands, the environment or, by their names, functions.
	awkOther = wordset.Fields(`
		ARGC ARGIND ARGV ENVIRON ERRNO FUNCTAB PROCINFO SYMTAB TEXTDOMAIN LINT BINMODE getline system close fflush
		func switch case default BEGINFILE ENDFILE asort asorti dcgettext dcngettext bindtextdomain mkbool include load namespace eval _`)
)

type awk struct {
	text      string
	at        int // after the token
	tok       awkToken
	word      string          // the token
	operand   bool            // an operand precedes the token: / divides
	depth     int             // nesting of brackets and blocks
	functions map[string]bool // defined functions
	called    map[string]bool // called functions, which may be defined later
	variables map[string]bool
}
