package effects

import "github.com/permd/permd/internal/strictjson"

// Call is one tool call that waits for permission, in the form that all protocol
// adapters convert it to. Its input has passed strictjson.Check.
type Call struct {
	// ID is the client's or agent's id of the call; not unique, never a key.
	ID string
	// Protocol names the adapter: "acp", "permd" …
	Protocol string
	Tool     Tool
	// Declared is what the client declares of the tool, nil if nothing.
	Declared *DeclaredTool
	// Input is the tool's raw input, nil when the agent sent none.
	Input strictjson.Value
	// Credentials are the credentials that the caller hands to the tool's server with
	// the call.
	Credentials Credentials
	// ReplyTo is where the result is sent: scheme, host and port of an address. It is ""
	// if the caller waits for the result.
	ReplyTo string
	// InputFrom is the member that Input was read from, "" for "rawInput".
	InputFrom string
	// Claims are the agent's statements about the call.
	Claims Claims
	Agent  Party
	Client Party
	// Cwd is the session's working directory, absolute; "" when not known.
	Cwd string
	// Roots are further folders that the session's files live in.
	Roots []string
	User  User
	// Marks say that the request itself is a question or a switch of mode.
	Marks []Mark
	// Defects are what the adapter found wrong with the request.
	Defects []Defect
	// Incomplete says what is known to be missing from the call; "" if it has everything
	// that the protocol sends.
	Incomplete string
	// Confined says why the session may do less than a sub-agent that the call starts, ""
	// if nothing is known that confines it.
	Confined string
	// LiveShell is set when an earlier call of the session changed the state of
	// a shell that stays alive, so relative paths have no known base.
	LiveShell bool
	// Folders are further folders that such a shell may be in: those that
	// earlier calls of the session moved it to, within the project.
	Folders []string
	// Activated are the folders of programs that such a shell may search before all
	// others (bin of a Python virtual environment): those that earlier calls of the
	// session activated; "" is an unknown folder.
	Activated []string
	// Before is what earlier calls of the same request may have changed.
	Before Disturbance
	// Announced is the call as it was said to be before a message named another tool, which
	// is a defect; nil if none did. Denies see it, too. Of the members only those are read
	// that say what the call is: ID, Protocol, Tool, Input and Claims.
	Announced *Call
}

// Tool is the tool as the agent names it.
type Tool struct {
	Name   string // "" when the protocol brought none
	Server string // the tool server, when the protocol names it apart
	Source string // where that server's configuration comes from
	// Version is the requested version, "" if none was named: the server then runs its
	// current one.
	Version string
	// Destructive is set if the tool's server declares that the tool may destroy
	// something. Its absence means nothing.
	Destructive bool
	// Trusted is set if the client lets the server run the tool without asking.
	Trusted bool
	// Unlisted is set if the tool is not in the list of tools that its server was told to
	// use: only the name in the call says that there is one.
	Unlisted bool
}

// Credentials are credentials by name, never by value.
type Credentials struct {
	Secrets        []string
	Authorizations []Authorization
}

// Authorization is an authorization whose token the tool would be given.
type Authorization struct {
	ID     string
	Scopes []string // as far as the tool's definition says
}

// Party is a program that talks to permd or to the client, as it names itself.
type Party struct {
	Name    string `json:"name"`
	Version string `json:"version,omitzero"`
}

// User is the person whose files are meant, known from the socket and the system, never
// from a message.
type User struct {
	UID    uint32
	Name   string
	Home   string // absolute
	Groups []string
	// Env holds the values that a path may name: HOME, XDG_CONFIG_HOME,
	// XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR, USER,
	// LOGNAME, TMPDIR. Absent ones have their standard defaults or are unknown.
	Env map[string]string
}

// Claims are the agent's statements about its call.
type Claims struct {
	Kind      string // the protocol's tool kind, as sent; "" if none
	Title     string
	Prompt    string // the question to the person, if separate from the title
	User      string // the user that the caller acts for, as it claims; not User
	TraceID   string // the id under which the caller traces the call
	Locations []Location
	Diffs     []Diff
	Texts     []string         // text content, in order
	Meta      strictjson.Value // the tool call's _meta, nil if none
	// Status is how far the call is by the agent's word: "pending", "in_progress",
	// "completed", "failed", "cancelled", "other" for another word, "" if none was said.
	Status string
	// Options are the kinds of the options that the agent offers, each once, in order.
	Options []string
	// Only is set if the messages about the call had nothing besides its id, title, kind and
	// status, not even members that permd does not read.
	Only bool
	// Retracted is set if an earlier message announced a diff that a later one took back.
	Retracted bool
}

// Location is a path the agent says the call touches.
type Location struct {
	Path string
	From string // the member, such as "locations[1].path"
}

// Diff is a change of a file that the agent announces.
type Diff struct {
	Path    string
	OldPath string // the source of a move or copy, "" if not said
	// Operation is "add", "modify", "delete", "move", "copy", or "" if not said.
	Operation string
	From      string // the member, such as "content[0]"
}

// ClaimedPath is a path of Claims as the file system has it.
type ClaimedPath struct {
	Path      string // absolute, links resolved; "" if that could not be found out
	AsWritten string
	Source    string // see the Source… constants
	Operation string // of a diff, see Diff
	Tags      Tags
}

// What names a path of Claims.
const (
	SourceLocation = "location"
	SourceDiff     = "diff"
	SourceOldPath  = "old_path" // a diff's, of a move or copy
)

// Mark is a kind of request that is never a plain tool call.
type Mark struct {
	Kind Kind   // KindQuestion or KindMode
	Why  string // in words
	From string
}

// Defect is something wrong with a request that does not make it unreadable.
// A call with a defect needs a person (docs/policy.md, "Who wins", row 3).
type Defect struct {
	Code string `json:"code"` // see the Defect… constants
	At   string `json:"at"`   // the member
	Text string `json:"text"` // in words, never repeating the input
}

// Codes of defects.
const (
	DefectDropped       = "dropped"       // a part was malformed and left out
	DefectContradiction = "contradiction" // a claim contradicts the input
	DefectNearMiss      = "near_miss"     // a name differs from a known one only by case
	DefectOption        = "option"        // the options cannot be answered safely
	DefectCharacters    = "characters"    // control or bidirectional characters hide text
	DefectChanged       = "changed"       // the tool is not what it was when a call of it last ran
)

// Completeness says how much of a call is known.
type Completeness string

// The degrees of completeness.
const (
	Full    Completeness = "full"    // the tool and its input are known
	Partial Completeness = "partial" // only claims are known, or something is missing
	None    Completeness = "none"    // nothing is known
)

// Result is the analysis of a call.
type Result struct {
	// Effects has at least one member.
	Effects []Effect
	// Hints are paths that the agent says the call touches, or that it may read besides
	// its effects, and that no effect is about. A deny, an ask or a fence for one of them
	// applies to the call; nothing else depends on them, except the use of a tool on the
	// claims that stand for it (Effect.StandsFor).
	Hints []Effect
	// Claimed are the paths of the call's claims, for rules that look at them.
	Claimed []ClaimedPath
	// Defects are the call's own and those found on the way.
	Defects      []Defect
	Completeness Completeness
	// Missing describes what is not known, unless the completeness is Full.
	Missing string
	// Project is the root of the project that the call belongs to, "" if none.
	Project string
	// Folders are those that a shell which stays alive may be in afterwards,
	// in addition to those it may have been in; "" is an unknown folder.
	Folders []string
	// Activated are the folders of programs that such a shell may search first
	// afterwards, "" for an unknown one.
	Activated []string
	// After is what the call may change, Before included.
	After Disturbance
	// Enters are the names of the modes that the call would switch its agent to, or start a
	// sub-agent in, as far as they are known, as written. They are facts of the whole call,
	// whatever its effects are.
	Enters []string
	// Rest are effects that can only deny the call: those of a part beyond its bounds,
	// which is not understood and so asks; those of commands that words of it may run;
	// and the files that its programs open and obey.
	Rest []Effect
	// Unprofiled are the effects, and after them the rest, that the call would have without
	// the profile of a person's own layer, nil if no such profile was used. Only denies and
	// asks of org see them, and denies of base about runs: a person's word on an agent does not
	// change what org says of its calls. Effect.Via is an index into them.
	Unprofiled []Effect
}
