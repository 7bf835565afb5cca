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
	printers []secretPrinter // programs that print secrets
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
	AfterDashes Act  // what operands after -- are, when HasDashes
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
	Act       Act
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
	Act    Act
	Many   bool
	Unless []string // the position does not exist when one of these is given
	Only   []string // the position exists only when one of these is given
}

// ImplicitEffect is an effect that no word spells out.
type ImplicitEffect struct {
	Act    Act
	Value  string
	With   []string // only when one of these options is given; empty = always
	Unless []string // not when one of these is given
}

// Act is what a word of a command means.
type Act uint8

const (
	ActText        Act = iota // only text
	ActChanges                // changes what the program does: not harmless
	ActUnknown                // not understood
	ActReads                  // a path that is read
	ActLists                  // a path whose name or listing is read
	ActWrites                 // a path that is written
	ActMakes                  // a folder that is created
	ActDeletes                // a path that is deleted
	ActMoves                  // a path that is read and deleted
	ActInto                   // the target of a copy or a move: a file or a folder
	ActLink                   // the target of a link
	ActConnects               // a URL or host that is read from
	ActSends                  // a URL or host that is sent to
	ActData                   // data that is sent: text, or @file
	ActExecutes               // a command line
	ActCommand                // the first word of a command that follows
	ActChdir                  // the folder the program runs in
	ActRef                    // a revision, or a path of the repository
	ActRemote                 // a remote's name or URL
	ActRefspec                // what is pushed: + and : mean more
	ActPackage                // a Go package, with @version fetched from elsewhere
	ActSed                    // a sed script
	ActAwk                    // an awk program
	ActGitFormat              // a format of git, of which some parts check signatures
	ActGitSort                // a key by which git sorts: a field of such a format
	ActColumns                // columns of ps, of which some hold more than a process
	ActGlobs                  // which names a search goes into
	ActTypes                  // which types of files a search goes into
	ActNumber                 // text that is a number
	ActGuarded                // text, unless it begins with @ or names %output
	ActUnfetched              // text, unless it is an address
	ActObject                 // an object file, or an archive of them, that is read
	ActFormat                 // text that begins with +; anything else changes something
	ActScript                 // a script that an interpreter runs
	ActInline                 // code that an interpreter runs
	ActModule                 // a module that an interpreter runs; the words after it are its own
	ActDownload               // writes the last part of each URL
	ActAssign                 // NAME=value or names of shell variables
	ActMakeTarget             // a target of a makefile, or a variable for it
	ActSources                // a file that is read, unless it begins with @: then it holds options
	ActViewed                 // a file that is read, unless it begins with +: then it is a command
	ActFromTop                // a file that is read, which git takes from the top of the repository
	ActMatched                // a file that is read; a pattern is one for the program
	ActCharset                // the name of a character set; with a slash in it, a file that is read
	ActBegins                 // the beginning of names of files that are written
	ActDatabase               // a file that is read, unless it begins with file: then it is an address
	ActName                   // a name: no path, no address, and no file of that name
	ActRepoName               // OWNER/NAME, or HOST/OWNER/NAME
	ActRunnerWords            // words for a test runner
	ActLoads                  // a file or folder of code or settings that the program obeys
	ActTool                   // a program that is run by its name
	ActTarget                 // a target of the project's own files; the words after it are its own
	ActArchive                // an archive that is read, or written
	ActPacks                  // a file that is replaced by its packed or unpacked form
	ActUnpackTo               // the folder that an archive is unpacked to
	ActPlain                  // text; with = in it, it changes something
	ActMount                  // a folder that a container sees
	ActCopies                 // a path, or HOST:PATH, that is read
	ActCopiesInto             // the target of such a copy
	ActSpec                   // a package of a registry, or an address or path of one
	ActHost                   // a host, or USER@HOST
	ActMethod                 // the method of a request
	ActField                  // a parameter of a request, which makes it one that sends
	ActEndpoint               // a part of an address, or a full one
	ActGitConfig              // a setting of git's for one run
	ActServerSQL              // SQL that a server runs
	ActForm                   // a part of a form: NAME=VALUE, or NAME=@FILE
	ActGoFlags                // flags for the go compiler or linker
	ActJQ                     // a jq program
	ActYQ                     // a yq program
	ActSQL                    // SQL that SQLite runs
)

// actNames are the words for acts in the program files.
var actNames = map[string]Act{
	"text": ActText, "harmless": ActText, "changes": ActChanges, "unknown": ActUnknown, "reads": ActReads,
	"lists": ActLists, "writes": ActWrites, "makes": ActMakes, "deletes": ActDeletes, "moves": ActMoves, "into": ActInto,
	"link": ActLink, "connects": ActConnects, "sends": ActSends, "data": ActData,
	"executes": ActExecutes, "command": ActCommand, "chdir": ActChdir, "ref": ActRef,
	"remote": ActRemote, "refspec": ActRefspec, "package": ActPackage, "sed": ActSed, "awk": ActAwk,
	"git_format": ActGitFormat, "git_sort": ActGitSort, "columns": ActColumns, "globs": ActGlobs, "types": ActTypes,
	"number": ActNumber, "guarded_text": ActGuarded, "unfetched": ActUnfetched, "object": ActObject, "format": ActFormat, "script": ActScript, "inline": ActInline, "module": ActModule,
	"download": ActDownload, "assigns": ActAssign,
	"target": ActTarget, "tool": ActTool, "loads": ActLoads, "runner_words": ActRunnerWords, "sources": ActSources, "viewed": ActViewed, "from_top": ActFromTop, "matched": ActMatched, "charset": ActCharset, "begins": ActBegins, "database": ActDatabase, "name": ActName, "repository": ActRepoName, "make_target": ActMakeTarget, "archive": ActArchive, "unpack_to": ActUnpackTo, "plain": ActPlain, "packs": ActPacks, "mount": ActMount, "copies": ActCopies,
	"copies_into": ActCopiesInto, "package_spec": ActSpec, "host": ActHost, "method": ActMethod, "field": ActField,
	"server_sql": ActServerSQL, "form": ActForm, "go_flags": ActGoFlags,
	"endpoint": ActEndpoint, "git_config": ActGitConfig, "jq": ActJQ, "yq": ActYQ, "sql": ActSQL,
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
