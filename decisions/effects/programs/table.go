// Package programs is the program table: what the options and operands of known
// programs do, as data. The shipped files of rego/programs are its ground layer;
// an organisation may extend it, and a person may add an overlay. It knows no
// file system and no shell.
package programs

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects/settings"
)

// Table is the program table: what the options and operands of known programs
// do, and what the shell's own commands and variables mean. It is data (the
// files of rego/programs, and what layers add), unchanging once made, and shared
// by requests.
type Table struct {
	programs map[string]*Program
	Shell    shellTable
	printers []printer // programs that print secrets
	// printersOf are the indices in printers by a program's name, and
	// printersOfAny those of the lines with a pattern for one.
	printersOf    map[string][]int
	printersOfAny []int
	same          map[string][]spelling       // by program: words that mean the same
	groups        map[string]optionList       // of options, for layers that include them
	settings      map[string]*settings.Format // formats of files that programs obey
	// Shims are the files that choose which program runs, nil for none.
	Shims *Shims
	// overlay is what a person's own layer says, nil if nothing.
	overlay *Overlay
	// TrustOverlay is set if the overlay counts for programs that no other layer
	// describes.
	TrustOverlay bool
}

// shellTable is what the table says about the shell itself.
type shellTable struct {
	harmlessEnv  map[string]bool // variables, or NAME=value, that may be set for a run
	harmlessHead []string        // prefixes of such variables (LC_)
	Nothing      map[string]bool // builtins that do nothing a rule could be about
	Numbers      map[string]bool // builtins that do nothing either, but calculate their operands
	State        map[string]bool // builtins that change what later commands mean
	Network      map[string]bool // programs whose output comes from the network
	folders      map[string]bool // the system's program folders
	DataInput    map[string]bool // programs to which standard input is data, or nothing
	Shipped      map[string]bool // programs of the shipped table
	plainSuffix  []string        // file names that end so never hold secrets
}

// Program is a program or one of its sub-commands.
type Program struct {
	traits
	Names   []string
	At      string // file and line, of what a layer says
	Style   style
	Options map[string]*Option
	long    []string // spellings of options that begin with two dashes

	Operands    []Operand
	AfterDashes Role // what operands after -- are, when HasDashes
	HasDashes   bool // whether AfterDashes is set
	Subs        map[string]*Program
	subHeads    []subHead
	below       []string // the groups of options that all sub-commands have

	ReadonlyOperands int      // with more operands it changes something; -1 = any number
	Obeys            []Obeyed // files of a project with which it may change something after all

	Wrapper  *wrapper
	Implicit []ImplicitEffect
	Inherent []ImplicitEffect
}

// style says how a program reads its words.
type style uint8

const (
	StyleGNU    style = iota // -abc is a bundle, --long=value
	StyleWords               // -long value, -long=value (the go command)
	StyleFind                // paths, then an expression of -words
	StyleTest                // an expression (test, [)
	StyleAssign              // every word is NAME=value (dd)
)

// subHead is a sub-command whose name has a beginning in common with others
// (describe-*).
type subHead struct {
	head string
	sub  *Program
}

// Sub returns the sub-command of that name, nil when the table has none.
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

// wrapper says how a program runs the command in its operands.
type wrapper struct {
	// Transparent wrappers change nothing about the command that matters, so
	// they are no run of their own.
	Transparent bool
	Skip        int  // operands before the command
	Assignments bool // NAME=value operands before the command (env)
	Appends     bool // it adds words of its own to the command (xargs)
	Dashes      bool // the command follows -- (kubectl exec POD -- CMD)
	Elsewhere   bool // the command runs on another machine or in a container
	Joined      bool // its words, joined, are shell text (ssh)
	Itself      bool // the sub-command's own word is the program (rtk git)
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
	Unless []string // the position does not exist when one of these is given
	Only   []string // the position exists only when one of these is given
}

// ImplicitEffect is an effect that no word spells out.
type ImplicitEffect struct {
	Role   Role
	Value  string
	With   []string // only when one of these options is given; empty = always
	Unless []string // not when one of these is given
}

// Program returns the table's entry for a program found by name.
func (t *Table) Program(name string) *Program { return t.programs[name] }

// HarmlessAssignment reports whether setting the variable for one run changes
// nothing but how its output looks. A value that may lead to a file is not
// harmless: LC_ALL=/x takes messages from there, TZ=/x reads it.
func (t *Table) HarmlessAssignment(name, value string) bool {
	if t.Shell.harmlessEnv[name+"="+value] {
		return true
	}
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, ":") || strings.Contains(value, "..") {
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

// SystemFolder reports whether programs in that folder go by their base name.
func (t *Table) SystemFolder(dir string) bool { return t.Shell.folders[dir] }

// PlainPattern reports whether no name that a glob's last component matches
// can be one that guards a secret.
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
