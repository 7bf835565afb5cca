// Package effects defines calls and their effects: the programs that a call would run,
// the paths it would read, write or delete, the hosts it would reach and the tools it
// would use. Policy and memory decide each effect by itself. So a rule about one kind of
// thing is sound only if everything that a call would do is an effect, and what is not
// understood is an Unknown one.
//
// The packages below derive effects from calls; package tools is the entry. They know no
// protocol, policy or database. They read the file system only through the FS interface,
// and run nothing.
package effects

import (
	"strings"

	"github.com/permd/permd/decisions/effects/plainshell"
)

// Kind says what an effect is; the words are those of the policy input.
type Kind string

// The kinds of effects (docs/policy.md, "The input").
const (
	KindRun      Kind = "run"      // run a program
	KindRead     Kind = "read"     // read a path
	KindWrite    Kind = "write"    // create or change a path
	KindDelete   Kind = "delete"   // remove a path
	KindConnect  Kind = "connect"  // reach a host
	KindUse      Kind = "use"      // call a named tool that is not known to be the agent's own
	KindState    Kind = "state"    // change what later commands mean
	KindMode     Kind = "mode"     // widen the agent's own permission mode
	KindQuestion Kind = "question" // ask the person something
	KindUnknown  Kind = "unknown"  // could not be understood
)

// Kinds lists all kinds.
var Kinds = []Kind{
	KindRun, KindRead, KindWrite, KindDelete, KindConnect, KindUse,
	KindState, KindMode, KindQuestion, KindUnknown,
}

// Effect is one thing that a call would do. Exactly one of the detail members
// that belongs to its kind is set; state, mode, question and unknown have Why.
type Effect struct {
	Kind Kind

	// Text is the effect as a person reads it, on one line: secrets masked,
	// control and bidirectional characters escaped.
	Text string

	// From names the member of the call that the effect was read from, such as
	// "rawInput.command" or "diff[0].path".
	From string

	Tags Tags

	// Claimed is set when the only source is something the agent says about
	// its call (a title, a location) rather than the input its tool gets.
	Claimed bool

	// Declared is set if the client declared what the members of the tool's input mean,
	// and no profile does.
	Declared bool

	// Hint is set for a member of Result.Hints, which only denies and asks see. With
	// Claimed it is what the agent says; without, what a word of a run may do besides the
	// run's effects, or what a string in a tool's arguments may mean. It needs no allow, and an allow of it has no effect.
	Hint bool

	// Guessed is set when the effect is one of several that the call may have, so that
	// only rules of persons count: on a Hint, and in Result.Rest on what the words of a
	// program that is not understood may run, and what it opens and obeys.
	Guessed bool

	// NameOf is set on a Hint that is an effect of the call by another path that leads to
	// it: one more than the index of that effect.
	NameOf int

	// StandsFor is set on a claim in Result.Hints that says, by the usual meaning of a tool's
	// name, what the use of the tool does: one more than the index of the use. It is no Hint,
	// since the use is allowed where org, the person or memory allow all claims that stand
	// for it. NameOf is set on it as well if the call has the same effect anyway.
	StandsFor int

	// Shell is set when the effect was read from shell text, not from a tool's
	// own fields: what a file tool writes is shown to the person as such.
	Shell bool

	// Undescribed is set on a run that executes, by a word with that meaning, a program or
	// script that neither the shipped table nor the organisation describes, and on a state that
	// has later programs run one (PAGER=x). The run's own program is Run.Known.
	Undescribed bool

	// Via is set if the effect comes from another one of the same call: from the operands
	// and options of a run, from its program, or from the arguments of a use.
	Via *Via

	// FromOverlay is set if only the overlay, a person's own description of a program,
	// has the effect. The meaning of the rest of the call does not depend on it.
	FromOverlay bool

	Run     *Run     // KindRun
	File    *File    // KindRead, KindWrite, KindDelete
	Connect *Connect // KindConnect
	Use     *Use     // KindUse

	// Why is the reason in words: what could not be understood, what state
	// changes, which mode would be widened.
	Why string

	// Cause is set on an unknown effect that no rule, choice or setting can allow:
	// only a person can, each time. The exception is CauseOnlyNamed.
	Cause Cause
	// Construct is the part of the text that is not plain, for CauseNotPlain.
	Construct plainshell.Construct
}

// Cause says what kind of unknown effect it is.
type Cause string

// CauseNotPlain: shell text that shells may read differently, so that what permd
// understood may not be what runs (docs/shell.md).
const CauseNotPlain Cause = "not_plain"

// CauseUnanswered: a file system did not answer, had an error, or permd had no time to
// look, so that nothing is known of a path.
const CauseUnanswered Cause = "unanswered"

// CauseTooLarge: the call does, or may do, more than permd looks at. What is left out
// may be denied.
const CauseTooLarge Cause = "too_large"

// CauseOnlyNamed: a request over ACP has the fields that the protocol requires and no
// others: an id, a title and a kind that says that nothing is changed. A rule of org or user
// can allow it for an agent and a kind (docs/policy.md, "covers").
const CauseOnlyNamed Cause = "only_named"

// Via says which run or use an effect comes from.
type Via struct {
	// Effect is the index of the run or use in the call's effects.
	Effect int
	// Arg is the index in Run.Args of the word that causes the effect, or Inherent if the
	// program and sub-command cause it whatever the words.
	Arg int
}

// Inherent is the Via.Arg of an effect that a program and sub-command always
// have (git push connects), or that a tool's arguments name. Such an effect
// takes its allow from its run or use; every other one needs its own.
const Inherent = -1

// Path returns the path that the effect is about, "" for none.
func (e *Effect) Path() string {
	if e.File == nil {
		return ""
	}
	return e.File.Path
}

// NeedsPerson returns why a person must say each time whether a file may be read or changed,
// since no rule and no choice that means its path means all of it; "" if none must.
func (e *Effect) NeedsPerson() string {
	switch {
	case e.File == nil:
	case e.File.OtherName:
		// The exact path in a rule or choice is another name of the file.
		return "another name of a guarded file: " + strings.Join(e.Guarded().Names(), ", ")
	case e.File.HoldsRules:
		return "may change the project's own rules for permd"
	}
	return ""
}

// Inherent reports whether the effect takes its allow from a run or use.
func (e *Effect) Inherent() bool { return e.Via != nil && e.Via.Arg == Inherent }

// Stdin says where a run's standard input comes from.
type Stdin string

// The sources of standard input. The empty string means none.
const (
	StdinNone    Stdin = "none"
	StdinFile    Stdin = "file"    // redirected from a file
	StdinText    Stdin = "text"    // a here-document or here-string
	StdinPipe    Stdin = "pipe"    // the output of another run
	StdinNetwork Stdin = "network" // the output of a run that reaches the network
)

// Run is a program that would run.
type Run struct {
	// Program is the name that a rule matches. It is a base name only when the
	// program is found by name or in a system folder; a program given as any
	// other path is named by that path (./npm is not npm).
	Program string
	// Executable is the program's path as written, when it was given as one.
	Executable string
	// OtherPaths are those of the program if links led to it (see File).
	OtherPaths []string
	// Args are the words after the program, without quotes. A word that is not known
	// before it runs is an Unknown effect of its own, and DynamicWord here.
	Args []string
	// Shown are the program and its words as Effect.Text has them, in a shell's
	// syntax; nil when something in that text is masked or cut.
	Shown []string
	// Subcommand is the sub-command's words joined by a space ("push",
	// "remote add"), empty when the table knows none.
	Subcommand string
	// Flags are the options by their canonical long names, with bundles, abbreviations
	// and refspecs resolved ("--force" for "-f" and "+main"), sorted, without values or
	// duplicates.
	Flags []string
	// Operands are the words that are neither options, nor values of options, nor the
	// sub-command, in order. It is nil if these are not certain: the table does not have
	// the program or one of its options, or the words are a command for another program.
	Operands []string
	Stdin    Stdin
	// StdinText is the literal text of a here-document or here-string.
	StdinText string
	// Cwd is the folder the program runs in, "" if it is not known.
	Cwd string
	// Folder is Cwd with links resolved, "" if that is not known.
	Folder string
	// Variables are those that are set for the run alone, as NAME=VALUE. A rule about the run
	// covers them, an answer to exactly another run does not; those that are not known to be
	// harmless are State besides.
	Variables []string
	// Script is the project's script that the run executes, nil if it executes none.
	Script *Script
	// Tool is the program of the table that a word of the run names (npx eslint), "" if none.
	Tool string
	// Unbound is why an answer about the run cannot be bound to what decides what it does: it
	// obeys a file of settings that says, or may say, more than is known to be harmless, such as
	// which program its name means. "" if nothing speaks against it. A run that is read-only
	// has an unknown effect instead.
	Unbound string
	// Own is how the run uses permd itself.
	Own OwnUse
	// Known is set when the program is in the program table.
	Known bool
	// Table is the file and line of the layer that describes the program, "" if only the
	// shipped table does, or none.
	Table string
	// WithoutOverlay is the run without the overlay's description of its program, nil if
	// there is no such description: a person's own layer cannot change it for others.
	WithoutOverlay *Run
	// Readonly is set only when every option and operand is known not to
	// change anything.
	Readonly bool
	// OwnData is set only when all that the run changes is the program's own data in the
	// project (what git has staged, its commits and branches), and nothing that it obeys
	// there makes it do more.
	OwnData bool
	// Reformats is set only when all that the run changes are files in the effects, which it
	// puts into its own format, and nothing that it obeys in the project makes it do more.
	Reformats bool
	// Does is what the program does in words, as the table says it, "" if it does not or
	// if the run is read-only.
	Does string
	// HarmlessFrom is the least n such that every word of Args from index n on is
	// harmless: an operand whose effects are effects of their own, or an option that the
	// table calls harmless. An entry of at least n words with a last * covers the run.
	HarmlessFrom int
	// Harmful are the indexes of the words that are not known to be harmless, in order.
	// They include both words of an option with a separate value and, after an option
	// that the table does not explain, the word that may be its value; only the latter
	// may be at HarmlessFrom or after it.
	Harmful []int
	// OptionsFrom is the least n such that every word of Harmful from index n on is an
	// option, or the value of the option before it, whose meaning does not depend on its
	// position. It exceeds the number of words if any of them may be a sub-command.
	OptionsFrom int
	// LimitedTo is the least n such that no word of Args from n on is an option with which the
	// program does another thing (checkout -b) or less (--dry-run); more if operands decide it.
	LimitedTo int
}

// DynamicWord replaces a word in Run.Args whose text is only known when the
// command runs.
const DynamicWord = "\x00dynamic"

// Script is a script by its path and content.
type Script struct {
	Path    string
	SHA256  string // hexadecimal, "" when the file could not be read
	Earlier string // the hash of more text, which earlier versions bound answers to, "" for none
	// Unbound is why an answer cannot be bound to what the run executes, in words that follow
	// "not remembered: "; "" if it can. Then SHA256 is "".
	Unbound string
	// What are the words for the part of the file that is meant, such as "script test of";
	// "" for the whole file.
	What string
	// Text is that part, line by line, for people to compare; "" if it is long or the whole
	// file. It may hold secrets.
	Text string
}

// File is a path that would be read, written or deleted.
type File struct {
	// Path is absolute and cleaned, with links resolved.
	Path string
	// AsWritten is the path as the call wrote it.
	AsWritten string
	// Recursive is set when everything below Path is meant as well.
	Recursive bool
	// Tree is the root of the other working tree of the project's repository that Path
	// lies in, "" for none (see Worktree).
	Tree string
	// OtherPaths are the paths by which links led to Path, the given one among them. Denies
	// and asks mean these as well (see Effect.NameOf); nil if there are none.
	OtherPaths []string
	// Resolved is set where Path is one of the OtherPaths of an effect: its Path.
	Resolved string
	// Moved says what is moved away, "" if it is deleted or not moved.
	Moved Moved
	// Reformatted is set for what a run that only reformats writes: the file as it was, in
	// another format.
	Reformatted bool
	// OtherName is set if the file is guarded because of another of its names (a hard
	// link): a rule for exactly Path is not about that name.
	OtherName bool
	// HoldsRules is set on a write or delete of all below Path if a project's own rules (.permd)
	// lie in it, or may: the call does not name them, and may change them.
	HoldsRules bool
}

// Method classes of a connect effect.
const (
	MethodGet  = "get"  // asks for something
	MethodSend = "send" // can send something, or not known to be a plain get
)

// Connect is a host that would be reached.
type Connect struct {
	Host   string // lower case, ASCII (IDNA); an IP address in its canonical form
	Port   int    // 0 when the call names none and the scheme has no default
	Scheme string
	URL    string // as given, user information masked; "" when the call names only a host
	Method string // MethodGet or MethodSend
}

// UnknownServer is the Use.Server of a tool that is called through another tool, if the
// call does not name its server. No server can have this name, so no allow of a server's
// tool matches it.
const UnknownServer = "?"

// AgentSource is the Use.Source of an agent's own tool that affects nothing outside of
// the conversation.
const AgentSource = "agent"

// kindTool begins the Use.Tool of a call that names no tool (see KindTool).
const kindTool = "kind/"

// KindTool returns the Use.Tool of a call over ACP that names no tool, of which the agent says
// no more than its kind, one of the protocol's.
func KindTool(kind string) string { return kindTool + kind }

// NamelessKinds returns the kinds of calls that may name no tool (see KindTool).
func NamelessKinds() []string { return []string{"search", "think", "other"} }

// NamesKind reports whether the name of a tool is, or begins as, one that KindTool returns.
func NamesKind(name string) bool { return strings.HasPrefix(name, kindTool) }

// OfKind reports whether the call may name no tool. Another call of the same name may be of
// another tool, so no answer about it is remembered.
func (u *Use) OfKind() bool { return u.Server == "" && NamesKind(u.Tool) }

// Use is a named tool that would be called.
type Use struct {
	Server  string // "" if the tool has no server, or UnknownServer
	Source  string // where the server's configuration comes from, "" if not known
	Tool    string
	Version string // the requested version, "" if none was named
	// Own is set if the agent's profile has the tool as one of its own that does not reach into a
	// server of tools.
	Own bool
	// Destructive is set if the tool's server declares so (see Tool).
	Destructive bool
	// Trusted is set if the client lets the server run the tool without asking.
	Trusted   bool
	Arguments []byte // raw JSON, nil if none
	// Credentials are the credentials that the tool would be given, each list sorted and
	// without duplicates.
	Credentials Credentials
	// OnBehalfOf is the user that the caller acts for, "" if it names none: an allow for
	// one user of a runtime is not one for others.
	OnBehalfOf string
}
