package programs

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tableFile is the YAML form of the table. One file holds any number of programs;
// rego/programs/README.md explains the vocabulary.
type tableFile struct {
	Groups   map[string]optionList `yaml:"groups"`
	Programs []programEntry        `yaml:"programs"`
	Extend   []programEntry        `yaml:"extend"` // of a layer: additions to known programs
	Shell    *shellEntry           `yaml:"shell"`
	Settings []settingsEntry       `yaml:"settings"`
	Shims    *shimsEntry           `yaml:"shims"`
	Prints   []textNode            `yaml:"prints_secrets"`
	Same     []textNode            `yaml:"same"`
	Runs     []textNode            `yaml:"runs"`
}

// optionList holds, for each role, the spellings of options: one string per
// option, synonyms separated by blanks, "=" for a required value, "==" for
// two and "[=]" for an optional one.
type optionList map[string][]textNode

// textNode is a string of the file with its line.
type textNode struct {
	text string
	line int
}

// UnmarshalYAML reads a string and records its line.
func (s *textNode) UnmarshalYAML(n *yaml.Node) error {
	s.line = n.Line
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		s.text = n.Value // as below, without a decoder for each word
		return nil
	}
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

// clarifyYAMLError rewrites the decoder's message about an unknown key or a wrong
// value in the terms of the file.
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

// errorf returns an error at the first line of the list.
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

// errorf returns an error at the names of the program.
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

// programEntry is a program as a file describes it. The tag layer of a key tells how
// a person's own layer may use that key, see keyEffect.
type programEntry struct {
	traits           `yaml:",inline"`
	Names            []textNode     `yaml:"names" layer:"selects"`
	Style            string         `yaml:"style" layer:"reading"`
	Include          []string       `yaml:"include" layer:"reading"`
	Everywhere       []string       `yaml:"include_below" layer:"reading"`
	Options          optionList     `yaml:"options" layer:"adds-roles"`
	Operands         []textNode     `yaml:"operands" layer:"adds-roles"`
	AfterDashes      string         `yaml:"after_dashes" layer:"adds-roles"`
	Sub              []programEntry `yaml:"sub" layer:"selects"`
	ReadonlyOperands *int           `yaml:"readonly_operands" layer:"adds-if-fewer"`
	Obeys            []textNode     `yaml:"obeys" layer:"adds"`
	Does             []textNode     `yaml:"does" layer:"describes"`
	Wrapper          *wrapperEntry  `yaml:"wrapper" layer:"reading"`
	Implicit         []textNode     `yaml:"implicit" layer:"adds"`
	Inherent         []textNode     `yaml:"inherent" layer:"adds"`

	// keyLines are the keys that an entry of a layer has, with their lines; "" is the
	// line of the entry itself.
	keyLines map[string]int
}

// settingsEntry is a format of files that programs obey, and the harmless settings
// of that format.
type settingsEntry struct {
	Name     textNode   `yaml:"name"`
	Format   string     `yaml:"format"`
	Harmless []textNode `yaml:"harmless"`
}

// shimsEntry lists the files that version managers obey, and the programs that they
// do not replace.
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
	ProgramVariables  []string `yaml:"program_variables"`
	Nothing           []string `yaml:"nothing"`
	Numbers           []string `yaml:"numbers"`
	State             []string `yaml:"state"`
	Network           []string `yaml:"network"`
	SystemFolders     []string `yaml:"system_folders"`
	PlainSuffixes     []string `yaml:"plain_suffixes"`
	DataInput         []string `yaml:"data_input"`
}

// inTableFile adds the file to an error, and the line if the error has one.
func inTableFile(name string, err error) error {
	if at, ok := errors.AsType[*lineError](err); ok && at.line > 0 {
		return fmt.Errorf("reading program table %s:%d: %w", name, at.line, err)
	}
	return fmt.Errorf("reading program table %s: %w", name, err)
}
