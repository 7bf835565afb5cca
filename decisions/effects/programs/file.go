package programs

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The YAML form of the table. One file holds any number of programs; the
// vocabulary is explained in rego/programs/README.md.
type tableFile struct {
	Groups   map[string]optionList `yaml:"groups"`
	Programs []programEntry        `yaml:"programs"`
	Extend   []programEntry        `yaml:"extend"` // of a layer: more about programs that are known
	Shell    *shellEntry           `yaml:"shell"`
	Settings []settingsEntry       `yaml:"settings"`
	Shims    *shimsEntry           `yaml:"shims"`
	Prints   []textNode            `yaml:"prints_secrets"`
	Same     []textNode            `yaml:"same"`
}

// optionList holds, for each act, the spellings of options: one string per
// option, synonyms separated by blanks, "=" for a required value, "==" for
// two and "[=]" for an optional one.
type optionList map[string][]textNode

// textNode is a text of the file with its line.
type textNode struct {
	text string
	line int
}

// UnmarshalYAML reads a text and notes where it is.
func (s *textNode) UnmarshalYAML(n *yaml.Node) error {
	s.line = n.Line
	return n.Decode(&s.text)
}

// lineError is an error at a line of a file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

func (s *textNode) errorf(format string, args ...any) error {
	return &lineError{s.line, fmt.Errorf(format, args...)}
}

// clarifyYAMLError puts the decoder's words for a key or value that does not belong
// there in those of the file.
func clarifyYAMLError(err error) error {
	wrong, ok := errors.AsType[*yaml.TypeError](err)
	if !ok || len(wrong.Errors) == 0 {
		return err
	}
	line := 0
	if _, err := fmt.Sscanf(wrong.Errors[0], "line %d:", &line); err != nil {
		return wrong
	}
	_, text, _ := strings.Cut(wrong.Errors[0], ": ")
	if key, _, ok := strings.Cut(strings.TrimPrefix(text, "field "), " not found in type "); ok {
		text = fmt.Sprintf("unknown key %q", key)
	}
	text, _, _ = strings.Cut(text, " into ")
	return &lineError{line, errors.New(text)}
}

// errorf is an error at the first line of the list.
func (l optionList) errorf(format string, args ...any) error {
	first := 0
	for _, lines := range l {
		for _, s := range lines {
			if first == 0 || s.line < first {
				first = s.line
			}
		}
	}
	return &lineError{first, fmt.Errorf(format, args...)}
}

// errorf is an error at the names of the program.
func (e *programEntry) errorf(format string, args ...any) error {
	if len(e.Names) == 0 {
		return fmt.Errorf(format, args...)
	}
	return e.Names[0].errorf(format, args...)
}

func texts(list []textNode) []string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = list[i].text
	}
	return all
}

type programEntry struct {
	Names             []textNode     `yaml:"names"`
	Style             string         `yaml:"style"`
	Include           []string       `yaml:"include"`
	Everywhere        []string       `yaml:"include_below"`
	Options           optionList     `yaml:"options"`
	Operands          []textNode     `yaml:"operands"`
	AfterDashes       string         `yaml:"after_dashes"`
	Sub               []programEntry `yaml:"sub"`
	SubOptional       bool           `yaml:"sub_optional"`
	Open              bool           `yaml:"open"`
	OpenSubs          bool           `yaml:"open_subs"`
	Targets           string         `yaml:"targets"`
	Readonly          bool           `yaml:"readonly"`
	ReadonlyOperands  *int           `yaml:"readonly_operands"`
	ReadonlyWith      []string       `yaml:"readonly_with"`
	UnknownIfChanging string         `yaml:"unknown_if_changing"`
	Abbreviations     bool           `yaml:"abbreviations"`
	Numeric           bool           `yaml:"numeric"`
	ValuesBehind      bool           `yaml:"values_behind"`
	Stop              bool           `yaml:"stop"`
	Text              bool           `yaml:"text"`
	Recursive         bool           `yaml:"recursive"`
	RecursiveWith     []string       `yaml:"recursive_with"`
	WritesWith        []string       `yaml:"writes_with"`
	DeletesWith       []string       `yaml:"deletes_with"`
	ClearsWith        []string       `yaml:"clears_with"`
	KeepsPathsWith    []string       `yaml:"keeps_paths_with"`
	ArchivesWith      []string       `yaml:"archives_with"`
	KeepsWith         []string       `yaml:"keeps_with"`
	UnpacksWith       []string       `yaml:"unpacks_with"`
	UnpacksUnless     []string       `yaml:"unpacks_unless"`
	Completes         []string       `yaml:"completes"`
	ObeysInput        bool           `yaml:"obeys_input"`
	SkipsHidden       bool           `yaml:"skips_hidden"`
	Rearranges        bool           `yaml:"rearranges"`
	DisturbsWith      []string       `yaml:"disturbs_with"`
	Network           bool           `yaml:"network"`
	Repository        bool           `yaml:"repository"`
	Wrapper           *wrapperEntry  `yaml:"wrapper"`
	Interpreter       string         `yaml:"interpreter"`
	Implicit          []textNode     `yaml:"implicit"`
	Inherent          []textNode     `yaml:"inherent"`
	Unknown           string         `yaml:"unknown"`
	PlainOptions      bool           `yaml:"plain_options"`
	ReadonlyAlone     []string       `yaml:"readonly_alone"`
	Obeys             []textNode     `yaml:"obeys"`
	Dashless          bool           `yaml:"dashless"`

	Implies map[string][]string `yaml:"implies"`
	Aliases map[string]string   `yaml:"aliases"`
	Modules map[string]string   `yaml:"modules"`

	// keyLines are the keys that an entry of a layer has, with their lines; "" is the
	// entry itself.
	keyLines map[string]int
}

// settingsEntry is a format of files that programs obey, with what is harmless
// in them.
type settingsEntry struct {
	Name     textNode   `yaml:"name"`
	Format   string     `yaml:"format"`
	Harmless []textNode `yaml:"harmless"`
}

// shimsEntry is what managers of versions obey, and what they do not replace.
type shimsEntry struct {
	Obeys  []textNode `yaml:"obeys"`
	Except []textNode `yaml:"except"`
}

type wrapperEntry struct {
	Transparent bool `yaml:"transparent"`
	Skip        int  `yaml:"skip"`
	Assignments bool `yaml:"assignments"`
	Appends     bool `yaml:"appends"`
	Dashes      bool `yaml:"dashes"`
	Elsewhere   bool `yaml:"elsewhere"`
	Joined      bool `yaml:"joined"`
	Scripts     bool `yaml:"scripts"`
	Itself      bool `yaml:"itself"`
}

type shellEntry struct {
	HarmlessVariables []string `yaml:"harmless_variables"`
	Nothing           []string `yaml:"nothing"`
	Numbers           []string `yaml:"numbers"`
	State             []string `yaml:"state"`
	Network           []string `yaml:"network"`
	SystemFolders     []string `yaml:"system_folders"`
	PlainSuffixes     []string `yaml:"plain_suffixes"`
	DataInput         []string `yaml:"data_input"`
}

// inTableFile names the file, and the line where the error knows it.
func inTableFile(name string, err error) error {
	if at, ok := errors.AsType[*lineError](err); ok && at.line > 0 {
		return fmt.Errorf("reading program table %s:%d: %w", name, at.line, err)
	}
	return fmt.Errorf("reading program table %s: %w", name, err)
}
