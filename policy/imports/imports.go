// Package imports turns the permission settings of other tools (Claude Code,
// Codex, Gemini CLI, opencode, Zed, VS Code) into rules of permd, and says what
// it could not carry over and why.
//
// It never makes permd looser than what the person wrote: an allow is kept only
// as far as its words say what runs, and a deny that cannot be kept exactly
// becomes wider or an ask. It decides nothing and installs nothing, and it knows
// no journal: it makes the text of rules.
package imports

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
)

// Tool is a tool whose settings can be read.
type Tool string

// The peers, by the words of the command line.
const (
	Claude   Tool = "claude"
	Codex    Tool = "codex"
	Gemini   Tool = "gemini"
	OpenCode Tool = "opencode"
	Zed      Tool = "zed"
	VSCode   Tool = "vscode"
)

// Peers are all of them.
var Peers = []Tool{Claude, Codex, Gemini, OpenCode, Zed, VSCode}

// Name is the peer's name as its makers write it.
func (p Tool) Name() string {
	switch p {
	case Claude:
		return "Claude Code"
	case Codex:
		return "Codex"
	case Gemini:
		return "Gemini CLI"
	case OpenCode:
		return "opencode"
	case Zed:
		return "Zed"
	case VSCode:
		return "VS Code"
	}
	return string(p)
}

// File is one settings file.
type File struct {
	Name string // absolute
	Data []byte
}

// maxFile is the largest settings file that is read, in bytes.
const maxFile = 4 << 20

// Options say where the settings come from.
type Options struct {
	// Home is the person's home: a settings file below it that belongs to the
	// peer itself holds for all projects.
	Home string
	// Project binds the rules to the project with this root; "" takes it from
	// where the files lie.
	Project string
	// Everywhere makes rules of a project's settings hold in every project.
	Everywhere bool
	// Table and Profiles are what permd makes effects with.
	Table    *programs.Table
	Profiles *tools.Profiles
}

// Place is where something stands.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line,omitzero"` // 0 when the file as a whole is meant
}

// String returns file:line.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Fate says what became of a rule or a setting.
type Fate string

// The outcomes.
const (
	Kept     Fate = "kept"     // it says the same
	Narrower Fate = "narrower" // an allow that covers less than the peer did
	Wider    Fate = "wider"    // a deny or ask that covers more
	Asks     Fate = "asks"     // it asks now where the peer denied
	LeftOut  Fate = "left out" // no rule came of it
	Mode     Fate = "mode"     // a mode of the peer
	Unknown  Fate = "unknown"  // a key that is not known
	Remark   Fate = "note"     // worth knowing
)

// Outcomes are all of them, in the order of a summary.
var Outcomes = []Fate{Kept, Narrower, Wider, Asks, LeftOut, Mode, Unknown, Remark}

// Note is what became of one rule or setting.
type Note struct {
	At      Place  `json:"at"`
	Text    string `json:"text"` // as it is there
	Outcome Fate   `json:"outcome"`
	Why     string `json:"why,omitzero"`
	Instead string `json:"instead,omitzero"`
	// Reason is the class of Why, for programs.
	Reason Reason `json:"reason,omitzero"`
}

// Reason is the class of reasons for which something could not be kept.
type Reason string

// The classes.
const (
	Everything  Reason = "everything"   // it allows all that a tool can do
	Interpreter Reason = "interpreter"  // code that permd cannot see
	Wrapper     Reason = "wrapper"      // a program that runs others
	Targets     Reason = "targets"      // whatever the project's files define
	ByPath      Reason = "by path"      // a script with open words
	NotWords    Reason = "no words"     // text that names no program with its words
	NotKnown    Reason = "not known"    // words that permd does not know to be harmless
	Condition   Reason = "condition"    // it holds only in some cases
	NoPattern   Reason = "no pattern"   // a pattern that lists do not have
	Loose       Reason = "loose prefix" // a prefix that ends within a word
	Broken      Reason = "broken"       // the peer itself ignores it
	Unreadable  Reason = "unreadable"   // permd cannot read it, the peer perhaps can
	Elsewhere   Reason = "elsewhere"    // permd has no such thing
	Overruled   Reason = "overruled"    // another rule of the peer takes its place
)

// Import is what settings came to.
type Import struct {
	Peer  Tool     `json:"peer"`
	Files []Out    `json:"files"`
	Notes []Note   `json:"notes"` // in the order of files and lines
	Read  []Source `json:"read"`
	rules []rule
}

// Source is a settings file that was read.
type Source struct {
	File string `json:"file"`
	// Project is the root that its rules are bound to, "" for every project.
	Project string `json:"project,omitzero"`
}

// Out is a file of rules to write.
type Out struct {
	Name string `json:"name"` // rules.yaml or imported.rego
	Text string `json:"text"`
}

// fileError is something in a settings file that keeps it from being read. Callers
// show its text, and what its method Hint returns.
type fileError struct {
	at  Place
	err error
	fix string
}

// Error returns the place and what is wrong.
func (e *fileError) Error() string { return fmt.Sprintf("reading %s: %v", e.at, e.err) }

// Unwrap returns what is wrong without its place.
func (e *fileError) Unwrap() error { return e.err }

// Hint returns what to do about it, "" if nothing is known.
func (e *fileError) Hint() string { return e.fix }

// Translate reads settings and makes rules of them. Files of the same peer are
// one set of settings; where their order counts, a later one has more weight.
// A file that cannot be read whole is an error that says where, and may have a method
// Hint: what such a file denies is not known.
func Translate(peer Tool, files []File, o Options) (*Import, error) {
	if len(files) == 0 {
		return nil, errors.New("translating settings: there is no file")
	}
	t := &translator{peer: peer, o: o, im: &Import{Peer: peer, Notes: []Note{}, Files: []Out{}}}
	for _, f := range files {
		if len(f.Data) > maxFile {
			return nil, &fileError{at: Place{File: f.Name}, err: fmt.Errorf("the file is longer than %d bytes", maxFile)}
		}
		root := o.Project
		if root == "" && !o.Everywhere {
			root = projectOf(peer, f.Name, o.Home)
		}
		t.project, t.file = root, f.Name
		if err := t.read(f); err != nil {
			return nil, err
		}
		t.im.Read = append(t.im.Read, Source{f.Name, root})
	}
	if err := t.write(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(t.im.Notes, func(a, b Note) int {
		of := func(n Note) int {
			return slices.IndexFunc(t.im.Read, func(s Source) bool { return s.File == n.At.File })
		}
		return cmp.Or(of(a)-of(b), a.At.Line-b.At.Line)
	})
	return t.im, nil
}

// translator reads the files of one peer and collects their rules.
type translator struct {
	peer    Tool
	o       Options
	project string // that the rules of the file being read are bound to
	file    string // being read
	rules   []rule
	im      *Import
}

func (t *translator) read(f File) error {
	switch t.peer {
	case Claude:
		return t.claude(f)
	case Codex:
		return t.codex(f)
	case Gemini:
		return t.gemini(f)
	case OpenCode:
		return t.opencode(f)
	case Zed:
		return t.zed(f)
	case VSCode:
		return t.vscode(f)
	}
	return fmt.Errorf("unknown tool %q", t.peer)
}

// rule is one rule of a peer.
type rule struct {
	at   Place
	text string
	set  decisions.Set
	m    match
	// rank orders rules: of those that match, the highest decides, among equals
	// the strictest.
	rank int
	// message is for the model, where the peer has one.
	message string
	// project is the root that the rule is bound to, "" for every project.
	project string
	// only says in which cases the rule holds, "" for always.
	only string
	// remark goes with whatever becomes of the rule.
	remark string
}

func (t *translator) at(line int) Place { return Place{File: t.file, Line: line} }

func (t *translator) add(r rule) {
	r.project = t.project
	t.rules = append(t.rules, r)
}

func (t *translator) note(n Note) { t.im.Notes = append(t.im.Notes, n) }

// leaveOut notes a rule that nothing came of before it could be one.
func (t *translator) leaveOut(line int, text string, why Reason, instead, format string, args ...any) {
	t.note(Note{At: t.at(line), Text: text, Outcome: LeftOut, Reason: why, Why: fmt.Sprintf(format, args...), Instead: instead})
}

func (t *translator) mode(line int, text, why, instead string) {
	t.note(Note{At: t.at(line), Text: text, Outcome: Mode, Reason: Elsewhere, Why: why, Instead: instead})
}

// folders are where a project keeps the settings of each peer, below its root.
var folders = map[Tool][]string{
	Claude: {".claude"}, Codex: {".codex", ".codex/rules"}, Gemini: {".gemini", ".gemini/policies"},
	OpenCode: {".", ".opencode", ".opencode/agent", ".opencode/agents"}, Zed: {".zed"}, VSCode: {".vscode"},
}

// projectOf is the project that a settings file belongs to, "" when it holds for
// all of them.
func projectOf(peer Tool, file, home string) string {
	dir := filepath.Dir(file)
	for _, sub := range folders[peer] {
		root := dir
		if sub != "." {
			for s := filepath.ToSlash(sub); ; {
				if filepath.Base(root) != filepath.Base(s) {
					root = ""
					break
				}
				root = filepath.Dir(root)
				if !containsSlash(s) {
					break
				}
				s = filepath.Dir(s)
			}
		} else if base := filepath.Base(file); base != "opencode.json" && base != "opencode.jsonc" ||
			dir == filepath.Join(home, ".config", "opencode") {
			root = ""
		}
		switch root {
		case "", "/", home, filepath.Join(home, ".config"):
		case "/etc":
		default:
			return root
		}
	}
	return ""
}

func containsSlash(s string) bool { return filepath.Dir(s) != "." }
