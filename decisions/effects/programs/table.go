// Package programs is the program table: the meaning of known programs' options and
// operands, as data. The base layer is the shipped files of rego/programs; an
// organisation may extend it, and a person may add an overlay. The package knows no
// file system and no shell.
package programs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/settings"
)

// Table is the program table: the meaning of known programs' options and operands,
// and of the shell's own commands and variables. It is data (the files of
// rego/programs, and the layers above them), immutable and shared by requests.
type Table struct {
	programs map[string]*Program
	Shell    shellTable
	subs     map[string]bool // names of sub-commands of any shipped program
	printers []secretPrinter // programs that print secrets
	// printersOf are the indices in printers by program name, and printersOfAny those
	// of the lines with a pattern for a name.
	printersOf    map[string][]int
	printersOfAny []int
	same          map[string][]spelling       // by program: equivalent words
	runs          map[[2]string][][]string    // by program and sub-command: other runs that it does as well
	groups        map[string]optionList       // of options, which layers may include
	settings      map[string]*settings.Format // formats of files that programs obey
	// Shims are the files that determine which program runs, nil if there are none.
	Shims *Shims
	// overlay is a person's own layer, nil if there is none.
	overlay *Overlay
	// TrustOverlay is set if the overlay counts for programs that no other layer
	// describes.
	TrustOverlay bool
}

// shellTable is the part of the table about the shell itself.
type shellTable struct {
	harmlessEnv  map[string]bool // variables, or NAME=value, that may be set for a run
	harmlessHead []string        // prefixes of such variables (LC_)
	programVars  map[string]bool // variables that name a program, or the folders of programs
	programTails []string        // what the names of further such variables end with (_COMMAND)
	Nothing      map[string]bool // builtins without effects that a rule could match
	Numbers      map[string]bool // the same, but they evaluate their operands as arithmetic
	State        map[string]bool // builtins that change what later commands mean
	Network      map[string]bool // programs whose output comes from the network
	folders      map[string]bool // the system's program folders
	DataInput    map[string]bool // programs that treat standard input as data, or ignore it
	Shipped      map[string]bool // programs of the shipped table
	plainSuffix  []string        // suffixes of file names that never hold secrets
}

// Program is a program or one of its sub-commands.
type Program struct {
	traits
	Names   []string
	At      string // file and line, in a layer
	Style   style
	Options map[string]*Option
	long    []string // spellings of options that begin with two dashes

	Operands    []Operand
	AfterDashes Role // the role of operands after --, if HasDashes
	HasDashes   bool // whether AfterDashes is set
	Subs        map[string]*Program
	subHeads    []subHead
	below       []string // the groups of options that all sub-commands share

	Does             []Description
	ReadonlyOperands int      // with more operands it changes something; -1 for any number
	Obeys            []Obeyed // files of a project that may make it change something

	Wrapper  *wrapper
	Implicit []ImplicitEffect
	Inherent []ImplicitEffect
}

// style is how a program reads its words.
type style uint8

const (
	StyleGNU    style = iota // -abc is a bundle, --long=value
	StyleWords               // -long value, -long=value (the go command)
	StyleFind                // paths, then an expression of -words
	StyleTest                // an expression (test, [)
	StyleAssign              // every word is NAME=value (dd)
	StylePS                  // --long, -abc and abc, each word by itself (ps)
)

// subHead is a family of sub-commands whose names share a prefix (describe-*).
type subHead struct {
	head string
	sub  *Program
}

// Sub returns the sub-command of that name, nil if the table has none.
func (p *Program) Sub(name string) *Program {
	if sub := p.Subs[name]; sub != nil {
		return sub
	}
	for i := range p.subHeads {
		if strings.HasPrefix(name, p.subHeads[i].head) && !strings.HasPrefix(name, "-") {
			return p.subHeads[i].sub
		}
	}
	return nil
}

// wrapper tells how a program runs the command in its operands.
type wrapper struct {
	// Transparent wrappers change nothing relevant about the command, so they are
	// no run of their own.
	Transparent bool
	Skip        int  // operands before the command
	Assignments bool // NAME=value operands before the command (env)
	Appends     bool // it appends words to the command (xargs)
	Dashes      bool // the command follows -- (kubectl exec POD -- CMD)
	Elsewhere   bool // the command runs on another machine or in a container
	Joined      bool // its words, joined, are shell code (ssh)
	Itself      bool // the sub-command's own name is the program (rtk git)
	Scripts     bool // a command whose name ends in .py is a script (uv run)
}

// Option is one option of a program.
type Option struct {
	Canonical string
	Arity     arity
	Role      Role
}

type arity uint8

const (
	ArityNone     arity = iota
	ArityRequired       // in the same word or the next one
	ArityOptional       // only in the same word
	ArityTwo            // the next two words, of which the first is a name (jq --arg)
)

// Operand says what the operands at a position are.
type Operand struct {
	Role   Role
	Many   bool
	Unless []string // the position does not exist if one of these is given
	Only   []string // the position exists only if one of these is given
}

// ImplicitEffect is an effect that no word names.
type ImplicitEffect struct {
	Role   Role
	Value  string
	With   []string // only when one of these options is given; empty = always
	Unless []string // not when one of these is given
	// Sometimes is set if a connection is made now and then: only denies see it.
	Sometimes bool
}

// IsSubcommand reports whether a shipped program has a sub-command of that name, so that
// the word need not be the program of the same name.
func (t *Table) IsSubcommand(name string) bool { return t.subs[name] }

// addSubcommands records the names of the sub-commands of a program, at any depth.
func (t *Table) addSubcommands(p *Program) {
	for name, sub := range p.Subs {
		if sub.Wrapper == nil || !sub.Wrapper.Itself { // such a name is the program
			t.subs[name] = true
		}
		t.addSubcommands(sub)
	}
}

// Program returns the entry of that name.
func (t *Table) Program(name string) *Program { return t.programs[name] }

// HarmlessAssignment reports whether setting the variable for one run affects only
// the format of the output. A value that may name a file is not harmless: LC_ALL=/x
// loads messages from there, TZ=/x reads it. Nor is one that is more than a plain word: make
// expands $(shell x) in a variable of the environment wherever a makefile has $(CI), and a shell
// the rest where a recipe or a script puts it in without quotes.
func (t *Table) HarmlessAssignment(name, value string) bool {
	if t.Shell.harmlessEnv[name+"="+value] {
		return true
	}
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, ":") || strings.Contains(value, "..") || !plainVariable(value) {
		return false
	}
	if t.Shell.harmlessEnv[name] {
		return true
	}
	for _, head := range t.Shell.harmlessHead {
		if strings.HasPrefix(name, head) {
			return true
		}
	}
	return false
}

// RunsUndescribed reports whether setting the variable has programs run one that the table does
// not describe. One that runs what it is given, such as a shell, counts as such, and so does
// a value with more than plain options after the program.
func (t *Table) RunsUndescribed(name, value string) bool {
	if !t.Shell.programVars[name] && !slices.ContainsFunc(t.Shell.programTails, func(tail string) bool { return strings.HasSuffix(name, tail) }) {
		return false
	}
	words := strings.Fields(value)
	if len(words) == 0 {
		return false
	}
	program := words[0]
	if dir, base := path.Split(program); dir != "" && t.SystemFolder(path.Clean(dir)) {
		program = base
	}
	p := t.programs[program]
	switch {
	case p == nil:
		return true
	case len(words) == 1 && p.Wrapper != nil && p.Wrapper.Elsewhere: // GIT_SSH_COMMAND=ssh
		return false
	case t.Runs(program) != RunsItself:
		return true
	}
	return slices.ContainsFunc(words[1:], func(word string) bool {
		return word[0] != '-' || strings.Trim(word, "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != ""
	})
}

// plainVariable reports whether a value is one word to make and to shells, and no option.
func plainVariable(value string) bool {
	return !strings.HasPrefix(value, "-") && !strings.ContainsFunc(value, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_.,:@%+=/-", c)
	})
}

// SystemFolder reports whether programs in that folder are known by their base name.
func (t *Table) SystemFolder(dir string) bool { return t.Shell.folders[dir] }

// PlainPattern reports whether no name that a glob's last component matches can be
// that of a secret.
func (t *Table) PlainPattern(pattern string) bool {
	base := path.Base(pattern)
	if base[0] == '.' {
		return false
	}
	for _, suffix := range t.Shell.plainSuffix {
		if strings.HasSuffix(base, suffix) {
			return true
		}
	}
	return false
}
