// Package imports translates the permission settings of other tools (Claude
// Code, Codex, Gemini CLI, opencode, Zed, VS Code) into rules of permd, and
// reports what it could not translate and why.
//
// The result is never looser than the settings: an allow is kept only as far as
// its words say what runs, and a deny that cannot be translated exactly becomes
// wider or an ask. The package only produces the text of rules. It decides
// nothing, installs nothing and does not use the journal.
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

// The tools, by the words of the command line.
const (
	Claude   Tool = "claude"
	Codex    Tool = "codex"
	Gemini   Tool = "gemini"
	OpenCode Tool = "opencode"
	Zed      Tool = "zed"
	VSCode   Tool = "vscode"
)

// Tools are all of them.
var Tools = []Tool{Claude, Codex, Gemini, OpenCode, Zed, VSCode}

// Name is the name that the tool's makers use.
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

// maxFile is the maximum size of a settings file, in bytes.
const maxFile = 4 << 20

// Options say where the settings come from.
type Options struct {
	// Home is the person's home folder: the tool's own settings files below it
	// apply to all projects.
	Home string
	// Project binds the rules to the project with this root. If it is "", the
	// project is derived from where the files are.
	Project string
	// Everywhere makes rules from a project's settings apply to every project.
	Everywhere bool
	// Table and Profiles are used to derive effects.
	Table    *programs.Table
	Profiles *tools.Profiles
}

// Place is a position in a settings file.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line,omitzero"` // 0 for the whole file
}

// String returns file:line.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Outcome is the result of translating a rule or a setting.
type Outcome string

// The outcomes.
const (
	Kept     Outcome = "kept"     // translated exactly
	Narrower Outcome = "narrower" // an allow that covers less than the tool's
	Wider    Outcome = "wider"    // a deny or ask that covers more
	Asks     Outcome = "asks"     // an ask where the tool denied
	LeftOut  Outcome = "left out" // yields no rule
	Mode     Outcome = "mode"     // a mode of the tool
	Unknown  Outcome = "unknown"  // an unknown key
	Remark   Outcome = "note"     // worth knowing
)

// Outcomes are all outcomes, in the order of a summary.
var Outcomes = []Outcome{Kept, Narrower, Wider, Asks, LeftOut, Mode, Unknown, Remark}

// Note is the outcome for one rule or setting.
type Note struct {
	At      Place   `json:"at"`
	Text    string  `json:"text"` // as written in the settings
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitzero"`
	Instead string  `json:"instead,omitzero"`
	// Reason is the class of Why, for machine use.
	Reason Reason `json:"reason,omitzero"`
}

// Reason is the class of reasons why something could not be translated.
type Reason string

// The classes.
const (
	Everything  Reason = "everything"   // it allows all that a tool can do
	Interpreter Reason = "interpreter"  // runs code that permd cannot see
	Wrapper     Reason = "wrapper"      // a program that runs others
	Targets     Reason = "targets"      // runs targets that the project's files define
	ByPath      Reason = "by path"      // a script with arbitrary arguments
	NotWords    Reason = "no words"     // text that names no program with its words
	NotKnown    Reason = "not known"    // words that permd does not know to be harmless
	Condition   Reason = "condition"    // it applies only in some cases
	NoPattern   Reason = "no pattern"   // a pattern that lists cannot express
	Loose       Reason = "loose prefix" // a prefix that ends within a word
	Broken      Reason = "broken"       // the tool ignores it
	Unreadable  Reason = "unreadable"   // permd cannot read it, but perhaps the tool can
	Elsewhere   Reason = "elsewhere"    // permd has no equivalent
	Overruled   Reason = "overruled"    // overridden by another rule of the tool
)

// Import is the result of a translation.
type Import struct {
	Tool  Tool     `json:"peer"`
	Files []Out    `json:"files"`
	Notes []Note   `json:"notes"` // ordered by file and line
	Read  []Source `json:"read"`
	rules []rule
}

// Source is a settings file that was read.
type Source struct {
	File string `json:"file"`
	// Project is the root of the project that its rules are bound to, "" for
	// every project.
	Project string `json:"project,omitzero"`
}

// Out is a rules file to write.
type Out struct {
	Name string `json:"name"` // rules.yaml or imported.rego
	Text string `json:"text"`
}

// fileError is an error that keeps a settings file from being read.
type fileError struct {
	at  Place
	err error
	fix string
}

// Error returns the place and the problem.
func (e *fileError) Error() string { return fmt.Sprintf("reading %s: %v", e.at, e.err) }

// Unwrap returns the problem without its place.
func (e *fileError) Unwrap() error { return e.err }

// Hint returns how to fix it, "" if nothing is known.
func (e *fileError) Hint() string { return e.fix }

// Translate reads settings and turns them into rules. Files of the same tool
// are one set of settings; where their order matters, a later one takes
// precedence. A file that cannot be read completely is an error with a method
// Hint, because its denies are not known.
func Translate(from Tool, files []File, o Options) (*Import, error) {
	if len(files) == 0 {
		return nil, errors.New("translating settings: there is no file")
	}
	t := &translator{tool: from, o: o, im: &Import{Tool: from, Notes: []Note{}, Files: []Out{}}}
	for _, f := range files {
		if len(f.Data) > maxFile {
			return nil, &fileError{at: Place{File: f.Name}, err: fmt.Errorf("the file is longer than %d bytes", maxFile)}
		}
		root := o.Project
		if root == "" && !o.Everywhere {
			root = projectOf(from, f.Name, o.Home)
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

// translator reads the files of one tool and collects their rules.
type translator struct {
	tool    Tool
	o       Options
	project string // root of the project that the current file's rules are bound to
	file    string // current file
	rules   []rule
	im      *Import
}

func (t *translator) read(f File) error {
	switch t.tool {
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
	return fmt.Errorf("unknown tool %q", t.tool)
}

// rule is one rule of a tool.
type rule struct {
	at   Place
	text string
	set  decisions.Set
	m    match
	// rank orders rules: of those that match, the highest decides, among equals
	// the strictest.
	rank int
	// message is for the model, where the tool has one.
	message string
	// project is the root of the project that the rule is bound to, "" for
	// every project.
	project string
	// condition describes the cases in which the rule applies, "" for always.
	condition string
	// remark is added to the note about the rule.
	remark string
}

func (t *translator) at(line int) Place { return Place{File: t.file, Line: line} }

func (t *translator) add(r rule) {
	r.project = t.project
	t.rules = append(t.rules, r)
}

func (t *translator) note(n Note) { t.im.Notes = append(t.im.Notes, n) }

// leaveOut notes a rule that was dropped before translation.
func (t *translator) leaveOut(line int, text string, why Reason, instead, format string, args ...any) {
	t.note(Note{At: t.at(line), Text: text, Outcome: LeftOut, Reason: why, Why: fmt.Sprintf(format, args...), Instead: instead})
}

func (t *translator) mode(line int, text, why, instead string) {
	t.note(Note{At: t.at(line), Text: text, Outcome: Mode, Reason: Elsewhere, Why: why, Instead: instead})
}

// folders are where each tool keeps the settings of a project, relative to its
// root.
var folders = map[Tool][]string{
	Claude: {".claude"}, Codex: {".codex", ".codex/rules"}, Gemini: {".gemini", ".gemini/policies"},
	OpenCode: {".", ".opencode", ".opencode/agent", ".opencode/agents"}, Zed: {".zed"}, VSCode: {".vscode"},
}

// projectOf returns the root of the project that a settings file belongs to, ""
// if it applies to all.
func projectOf(from Tool, file, home string) string {
	dir := filepath.Dir(file)
	for _, sub := range folders[from] {
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
