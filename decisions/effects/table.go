package effects

import (
	"path"
	"strings"
)

// Table is the program table: what the options and operands of known programs
// do, and what the shell's own commands and variables mean. It is data (the
// files of rego/programs, and what layers add), unchanging once made, and shared
// by requests.
type Table struct {
	programs map[string]*program
	shell    shellTable
	printers []printer // programs that print secrets
	// printersOf are the indices in printers by a program's name, and
	// printersOfAny those of the lines with a pattern for one.
	printersOf    map[string][]int
	printersOfAny []int
	same          map[string][]spelling // by program: words that mean the same
	groups        map[string]optionList // of options, for layers that include them
	settings      map[string]*settings  // formats of files that programs obey
	shims         *shims                // files that choose which program runs
	// second is what a person's own layer says beside, nil if nothing.
	second *Opinions
	// vouched is set when the person's word counts for programs that nobody else
	// describes.
	vouched bool
	// reader reads shell text.
	reader *shellReader
}

// shellTable is what the table says about the shell itself.
type shellTable struct {
	harmlessEnv  map[string]bool // variables, or NAME=value, that may be set for a run
	harmlessHead []string        // prefixes of such variables (LC_)
	nothing      map[string]bool // builtins that do nothing a rule could be about
	numbers      map[string]bool // builtins that do nothing either, but calculate their operands
	state        map[string]bool // builtins that change what later commands mean
	network      map[string]bool // programs whose output comes from the network
	folders      map[string]bool // the system's program folders
	dataInput    map[string]bool // programs to which standard input is data, or nothing
	shipped      map[string]bool // programs of the shipped table
	plainSuffix  []string        // file names that end so never hold secrets
}

// program is a program or one of its sub-commands.
type program struct {
	names   []string
	at      string            // file and line, of what a layer says
	aliases map[string]string // further names, and the one each stands for
	style   style
	options map[string]*option
	long    []string // spellings of options that begin with two dashes

	operands    []operand
	afterDashes act  // what operands after -- are, when hasDashes
	hasDashes   bool // whether afterDashes is set
	subs        map[string]*program
	subHeads    []subHead
	subOptional bool     // operands may stand where a sub-command could
	openSubs    bool     // sub-commands that are not listed are not looked into
	below       []string // the groups of options that all sub-commands have
	open        bool     // options and sub-commands that are not listed are not looked into

	readonly         bool
	readonlyOperands int // with more operands it changes something; -1 = any number
	readonlyWith     []string
	readonlyAlone    []string // options with which, as the only word, it changes nothing
	obeys            []obeyed // files of a project with which it may change something after all
	changing         string   // why a run that is not read-only is not understood

	abbreviations bool // unique beginnings of long options are accepted
	numeric       bool // -20 is an option
	valuesBehind  bool // -ab V W: the values of options in one word stand behind it
	stop          bool // options end at the first operand
	text          bool // every word is text, known or not
	recursive     bool // operands mean everything below them
	recursiveWith []string
	writesWith    []string // operands that are read are written as well
	deletesWith   []string // operands that are read or written go afterwards
	clearsWith    []string // what stands at the target of a copy goes first
	keepsPaths    []string // the target of a copy gets the whole path of each source
	skipsHidden   bool     // going through a folder, it leaves out hidden names
	rearranges    bool     // it may put links anywhere in its folder
	disturbsWith  []string // it only links or moves with one of these
	network       bool
	repository    bool                // obeys the configuration of the repository it runs in
	plainOptions  bool                // no option does more than change the output
	implies       map[string][]string // further flags that an option stands for
	dashless      bool                // the first word may be options without a dash (tar xzf)
	archivesWith  []string            // options with which an archive is written
	unpacksWith   []string            // options with which it fills a folder from an archive
	unpacksUnless []string            // options without which it does
	completes     []string            // endings with which it tries the name of a file that is not there
	obeysInput    bool                // it does what it reads from its standard input
	keepsWith     []string            // options with which what is packed stays as it is
	targets       string              // the file that targets stand in
	modules       map[string]string   // modules of an interpreter that are programs of the table

	wrapper     *wrapper
	interpreter string // "shell", "other" or ""
	implicit    []implicitEffect
	inherent    []implicitEffect
	unknown     string // why the program is never understood
}

// style says how a program reads its words.
type style uint8

const (
	styleGNU    style = iota // -abc is a bundle, --long=value
	styleWords               // -long value, -long=value (the go command)
	styleFind                // paths, then an expression of -words
	styleTest                // an expression (test, [)
	styleAssign              // every word is NAME=value (dd)
)

// subHead is a sub-command whose name has a beginning in common with others
// (describe-*).
type subHead struct {
	head string
	sub  *program
}

// sub returns the sub-command of that name, nil when the table has none.
func (p *program) sub(name string) *program {
	if sub := p.subs[name]; sub != nil {
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
	// transparent wrappers change nothing about the command that matters, so
	// they are no run of their own.
	transparent bool
	skip        int  // operands before the command
	assignments bool // NAME=value operands before the command (env)
	appends     bool // it adds words of its own to the command (xargs)
	dashes      bool // the command stands behind -- (kubectl exec POD -- CMD)
	elsewhere   bool // the command runs on another machine or in a container
	joined      bool // its words, joined, are shell text (ssh)
	itself      bool // the sub-command's own word is the program (rtk git)
	scripts     bool // a command whose name ends in .py is a script (uv run)
}

// option is one option of a program.
type option struct {
	canonical string
	arity     arity
	act       act
}

type arity uint8

const (
	arityNone     arity = iota
	arityRequired       // in the same word or the next one
	arityOptional       // only in the same word
	arityTwo            // the next two words, of which the first is a name (jq --arg)
)

// operand says what the operands at a position are.
type operand struct {
	act    act
	many   bool
	unless []string // the position does not exist when one of these is given
	only   []string // the position exists only when one of these is given
}

// implicitEffect is an effect that no word spells out.
type implicitEffect struct {
	act    act
	value  string
	with   []string // only when one of these options is given; empty = always
	unless []string // not when one of these is given
}

// act is what a word of a command means.
type act uint8

const (
	actText        act = iota // only text
	actChanges                // changes what the program does: not harmless
	actUnknown                // not understood
	actReads                  // a path that is read
	actLists                  // a path whose name or listing is read
	actWrites                 // a path that is written
	actMakes                  // a folder that is created
	actDeletes                // a path that is deleted
	actMoves                  // a path that is read and deleted
	actInto                   // the target of a copy or a move: a file or a folder
	actLink                   // the target of a link
	actConnects               // a URL or host that is read from
	actSends                  // a URL or host that is sent to
	actData                   // data that is sent: text, or @file
	actExecutes               // a command line
	actCommand                // the first word of a command that follows
	actChdir                  // the folder the program runs in
	actRef                    // a revision, or a path of the repository
	actRemote                 // a remote's name or URL
	actRefspec                // what is pushed: + and : mean more
	actPackage                // a Go package, with @version fetched from elsewhere
	actSed                    // a sed script
	actAwk                    // an awk program
	actGitFormat              // a format of git, of which some parts check signatures
	actGitSort                // a key by which git sorts: a field of such a format
	actColumns                // columns of ps, of which some hold more than a process
	actGlobs                  // which names a search goes into
	actTypes                  // which types of files a search goes into
	actNumber                 // text that is a number
	actGuarded                // text, unless it begins with @ or names %output
	actUnfetched              // text, unless it is an address
	actObject                 // an object file, or an archive of them, that is read
	actFormat                 // text that begins with +; anything else changes something
	actScript                 // a script that an interpreter runs
	actInline                 // code that an interpreter runs
	actModule                 // a module that an interpreter runs; the words behind it are its own
	actDownload               // writes the last part of each URL
	actAssign                 // NAME=value or names of shell variables
	actMakeTarget             // a target of a makefile, or a variable for it
	actSources                // a file that is read, unless it begins with @: then it holds options
	actViewed                 // a file that is read, unless it begins with +: then it is a command
	actDatabase               // a file that is read, unless it begins with file: then it is an address
	actName                   // a name: no path, no address, and no file of that name
	actRepoName               // OWNER/NAME, or HOST/OWNER/NAME
	actRunnerWords            // words for a test runner
	actLoads                  // a file or folder of code or settings that the program obeys
	actTool                   // a program that is run by its name
	actTarget                 // a target of the project's own files; the words behind it are its own
	actArchive                // an archive that is read, or written
	actPacks                  // a file that is replaced by its packed or unpacked form
	actUnpackTo               // the folder that an archive is unpacked to
	actPlain                  // text; with = in it, it changes something
	actMount                  // a folder that a container sees
	actCopies                 // a path, or HOST:PATH, that is read
	actCopiesInto             // the target of such a copy
	actSpec                   // a package of a registry, or an address or path of one
	actHost                   // a host, or USER@HOST
	actMethod                 // the method of a request
	actField                  // a parameter of a request, which makes it one that sends
	actEndpoint               // a part of an address, or a full one
	actGitConfig              // a setting of git's for one run
	actServerSQL              // SQL that a server runs
	actForm                   // a part of a form: NAME=VALUE, or NAME=@FILE
	actGoFlags                // flags for the go compiler or linker
	actJQ                     // a jq program
	actYQ                     // a yq program
	actSQL                    // SQL that SQLite runs
)

// actNames are the words for acts in the program files.
var actNames = map[string]act{
	"text": actText, "harmless": actText, "changes": actChanges, "unknown": actUnknown, "reads": actReads,
	"lists": actLists, "writes": actWrites, "makes": actMakes, "deletes": actDeletes, "moves": actMoves, "into": actInto,
	"link": actLink, "connects": actConnects, "sends": actSends, "data": actData,
	"executes": actExecutes, "command": actCommand, "chdir": actChdir, "ref": actRef,
	"remote": actRemote, "refspec": actRefspec, "package": actPackage, "sed": actSed, "awk": actAwk,
	"git_format": actGitFormat, "git_sort": actGitSort, "columns": actColumns, "globs": actGlobs, "types": actTypes,
	"number": actNumber, "guarded_text": actGuarded, "unfetched": actUnfetched, "object": actObject, "format": actFormat, "script": actScript, "inline": actInline, "module": actModule,
	"download": actDownload, "assigns": actAssign,
	"target": actTarget, "tool": actTool, "loads": actLoads, "runner_words": actRunnerWords, "sources": actSources, "viewed": actViewed, "database": actDatabase, "name": actName, "repository": actRepoName, "make_target": actMakeTarget, "archive": actArchive, "unpack_to": actUnpackTo, "plain": actPlain, "packs": actPacks, "mount": actMount, "copies": actCopies,
	"copies_into": actCopiesInto, "package_spec": actSpec, "host": actHost, "method": actMethod, "field": actField,
	"server_sql": actServerSQL, "form": actForm, "go_flags": actGoFlags,
	"endpoint": actEndpoint, "git_config": actGitConfig, "jq": actJQ, "yq": actYQ, "sql": actSQL,
}

// program returns the table's entry for a program found by name.
func (t *Table) program(name string) *program { return t.programs[name] }

// HarmlessAssignment reports whether a variable that is set in a program's
// environment changes nothing but how its output looks.
func (t *Table) HarmlessAssignment(name, value string) bool { return t.harmlessAssignment(name, value) }

// harmlessAssignment reports whether setting the variable for one run changes
// nothing but how its output looks. A value that may lead to a file is not
// harmless: LC_ALL=/x takes messages from there, TZ=/x reads it.
func (t *Table) harmlessAssignment(name, value string) bool {
	if t.shell.harmlessEnv[name+"="+value] {
		return true
	}
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, ":") || strings.Contains(value, "..") {
		return false
	}
	if t.shell.harmlessEnv[name] {
		return true
	}
	for _, head := range t.shell.harmlessHead {
		if strings.HasPrefix(name, head) {
			return true
		}
	}
	return false
}

// systemFolder reports whether programs in that folder go by their base name.
func (t *Table) systemFolder(dir string) bool { return t.shell.folders[dir] }

// plainPattern reports whether no name that a glob's last component matches
// can be one that guards a secret.
func (t *Table) plainPattern(pattern string) bool {
	base := path.Base(pattern)
	if base[0] == '.' {
		return false
	}
	for _, suffix := range t.shell.plainSuffix {
		if strings.HasSuffix(base, suffix) {
			return true
		}
	}
	return false
}

// find returns the option of that spelling. A long option's unique beginning
// is found too when the program accepts it; abbreviated says so, and several
// candidates of one beginning are all returned.
func (p *program) find(spelling string) (found []*option, abbreviated bool) {
	if o := p.options[spelling]; o != nil {
		return []*option{o}, false
	}
	if !p.abbreviations || len(spelling) < 3 || spelling[:2] != "--" {
		return nil, false
	}
	for _, name := range p.long {
		if strings.HasPrefix(name, spelling) {
			found = append(found, p.options[name])
		}
	}
	return found, true
}
