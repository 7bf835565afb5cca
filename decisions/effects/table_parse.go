package effects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The YAML form of the table. One file holds any number of programs; the
// vocabulary is explained in rego/programs/README.md.
type tableFile struct {
	Groups   map[string]optionList `yaml:"groups"`
	Programs []programEntry        `yaml:"programs"`
	Shell    *shellEntry           `yaml:"shell"`
}

// optionList holds, for each act, the spellings of options: one string per
// option, synonyms separated by blanks, "=" for a required and "[=]" for an
// optional value.
type optionList map[string][]string

type programEntry struct {
	Names             []string       `yaml:"names"`
	Style             string         `yaml:"style"`
	Include           []string       `yaml:"include"`
	Options           optionList     `yaml:"options"`
	Operands          []string       `yaml:"operands"`
	AfterDashes       string         `yaml:"after_dashes"`
	Sub               []programEntry `yaml:"sub"`
	SubOptional       bool           `yaml:"sub_optional"`
	Readonly          bool           `yaml:"readonly"`
	ReadonlyOperands  *int           `yaml:"readonly_operands"`
	ReadonlyWith      []string       `yaml:"readonly_with"`
	UnknownIfChanging string         `yaml:"unknown_if_changing"`
	Abbreviations     bool           `yaml:"abbreviations"`
	Numeric           bool           `yaml:"numeric"`
	Stop              bool           `yaml:"stop"`
	Text              bool           `yaml:"text"`
	Recursive         bool           `yaml:"recursive"`
	RecursiveWith     []string       `yaml:"recursive_with"`
	WritesWith        []string       `yaml:"writes_with"`
	SkipsHidden       bool           `yaml:"skips_hidden"`
	Rearranges        bool           `yaml:"rearranges"`
	DisturbsWith      []string       `yaml:"disturbs_with"`
	Network           bool           `yaml:"network"`
	Repository        bool           `yaml:"repository"`
	Wrapper           *wrapperEntry  `yaml:"wrapper"`
	Interpreter       string         `yaml:"interpreter"`
	Implicit          []string       `yaml:"implicit"`
	Inherent          []string       `yaml:"inherent"`
	Unknown           string         `yaml:"unknown"`
	PlainOptions      bool           `yaml:"plain_options"`

	Implies map[string][]string `yaml:"implies"`
	Aliases map[string]string   `yaml:"aliases"`
}

type wrapperEntry struct {
	Transparent bool `yaml:"transparent"`
	Skip        int  `yaml:"skip"`
	Assignments bool `yaml:"assignments"`
	Appends     bool `yaml:"appends"`
}

type shellEntry struct {
	HarmlessVariables []string `yaml:"harmless_variables"`
	Nothing           []string `yaml:"nothing"`
	Numbers           []string `yaml:"numbers"`
	State             []string `yaml:"state"`
	Network           []string `yaml:"network"`
	SystemFolders     []string `yaml:"system_folders"`
	PlainSuffixes     []string `yaml:"plain_suffixes"`
}

// ParseTable reads program files (name -> content). It fails on unknown keys,
// on a program that two files describe, and on words it does not know, naming
// the file and program.
func ParseTable(files map[string][]byte) (*Table, error) {
	p := &tableParser{
		table: &Table{programs: map[string]*program{}, shell: shellTable{
			harmlessEnv: map[string]bool{}, nothing: map[string]bool{}, numbers: map[string]bool{}, state: map[string]bool{},
			network: map[string]bool{}, folders: map[string]bool{},
		}},
		groups: map[string]optionList{},
	}
	parsed := map[string]*tableFile{}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		file, err := decodeTableFile(files[name])
		if err != nil {
			return nil, fmt.Errorf("reading program table %s: %w", name, err)
		}
		parsed[name] = file
		maps.Copy(p.groups, file.Groups)
		if file.Shell != nil {
			p.shell(file.Shell)
		}
	}
	for _, name := range names {
		for i := range parsed[name].Programs {
			if err := p.add(&parsed[name].Programs[i]); err != nil {
				return nil, fmt.Errorf("reading program table %s: %w", name, err)
			}
		}
	}
	return p.table, nil
}

func decodeTableFile(data []byte) (*tableFile, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	file := &tableFile{}
	if err := dec.Decode(file); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := dec.Decode(&tableFile{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	return file, nil
}

type tableParser struct {
	table  *Table
	groups map[string]optionList
}

func (p *tableParser) shell(e *shellEntry) {
	t := &p.table.shell
	for _, name := range e.HarmlessVariables {
		if head, ok := strings.CutSuffix(name, "*"); ok {
			t.harmlessHead = append(t.harmlessHead, head)
		} else {
			t.harmlessEnv[name] = true
		}
	}
	for set, list := range map[*map[string]bool][]string{
		&t.nothing: e.Nothing, &t.numbers: e.Numbers, &t.state: e.State, &t.network: e.Network, &t.folders: e.SystemFolders,
	} {
		for _, word := range list {
			(*set)[word] = true
		}
	}
	t.plainSuffix = append(t.plainSuffix, e.PlainSuffixes...)
}

func (p *tableParser) add(e *programEntry) error {
	prog, err := p.program(e)
	if err != nil {
		return fmt.Errorf("program %q: %w", strings.Join(e.Names, " "), err)
	}
	return register(p.table.programs, prog)
}

func register(into map[string]*program, prog *program) error {
	for alias, name := range prog.aliases {
		if !slices.Contains(prog.names, name) {
			return fmt.Errorf("alias %q stands for %q, which is no name of the program", alias, name)
		}
	}
	for _, name := range slices.Concat(prog.names, slices.Sorted(maps.Keys(prog.aliases))) {
		if name == "" || strings.ContainsAny(name, "/ ") {
			return fmt.Errorf("program %q: a name is one word without a slash", name)
		}
		if into[name] != nil {
			return fmt.Errorf("program %q is described twice", name)
		}
		into[name] = prog
	}
	return nil
}

var styles = map[string]style{
	"": styleGNU, "gnu": styleGNU, "words": styleWords, "find": styleFind, "test": styleTest,
}

func (p *tableParser) program(e *programEntry) (*program, error) {
	if len(e.Names) == 0 {
		return nil, errors.New("it has no names")
	}
	prog := &program{
		names: e.Names, options: map[string]*option{},
		subOptional: e.SubOptional, readonly: e.Readonly, readonlyOperands: -1,
		readonlyWith: e.ReadonlyWith, changing: e.UnknownIfChanging,
		abbreviations: e.Abbreviations, numeric: e.Numeric, stop: e.Stop, text: e.Text,
		recursive: e.Recursive, recursiveWith: e.RecursiveWith, writesWith: e.WritesWith,
		skipsHidden: e.SkipsHidden, rearranges: e.Rearranges, disturbsWith: e.DisturbsWith,
		network: e.Network, repository: e.Repository, interpreter: e.Interpreter, unknown: e.Unknown,
		implies: e.Implies, aliases: e.Aliases,
	}
	if e.ReadonlyOperands != nil {
		prog.readonlyOperands = *e.ReadonlyOperands
	}
	if w := e.Wrapper; w != nil {
		prog.wrapper = &wrapper{transparent: w.Transparent, skip: w.Skip, assignments: w.Assignments, appends: w.Appends}
		prog.stop = true
	}
	var ok bool
	if prog.style, ok = styles[e.Style]; !ok {
		return nil, fmt.Errorf("unknown style %q", e.Style)
	}
	switch e.Interpreter {
	case "", "shell", "other":
	default:
		return nil, fmt.Errorf("unknown kind of interpreter %q", e.Interpreter)
	}
	if err := p.optionsOf(prog, e); err != nil {
		return nil, err
	}
	if err := p.operandsOf(prog, e); err != nil {
		return nil, err
	}
	for i := range e.Sub {
		// How words are read is the same all the way down.
		sub := &e.Sub[i]
		sub.Abbreviations = sub.Abbreviations || e.Abbreviations
		sub.Repository = sub.Repository || e.Repository
		if sub.Style == "" {
			sub.Style = e.Style
		}
		if prog.subs == nil {
			prog.subs = map[string]*program{}
		}
		inner, err := p.program(sub)
		if err != nil {
			return nil, fmt.Errorf("sub-command %q: %w", strings.Join(sub.Names, " "), err)
		}
		if err := register(prog.subs, inner); err != nil {
			return nil, err
		}
	}
	return prog, nil
}

func (p *tableParser) optionsOf(prog *program, e *programEntry) error {
	lists := []optionList{e.Options}
	for _, name := range e.Include {
		group, ok := p.groups[name]
		if !ok {
			return fmt.Errorf("unknown group %q", name)
		}
		lists = append(lists, group)
	}
	prog.plainOptions = true
	for _, list := range lists {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			does, ok := actNames[name]
			if !ok {
				return fmt.Errorf("unknown kind of option %q", name)
			}
			switch does {
			case actText, actReads, actGlobs, actTypes:
			default:
				prog.plainOptions = e.PlainOptions
			}
			for _, line := range list[name] {
				if err := addOption(prog, line, does); err != nil {
					return err
				}
			}
		}
	}
	slices.Sort(prog.long)
	return nil
}

// addOption reads one line of spellings such as "-o= --output=".
func addOption(prog *program, line string, does act) error {
	o := &option{act: does}
	spellings := strings.Fields(line)
	for _, spelling := range spellings {
		takes := arityNone
		switch {
		case strings.HasSuffix(spelling, "[=]"):
			takes, spelling = arityOptional, strings.TrimSuffix(spelling, "[=]")
		case strings.HasSuffix(spelling, "="):
			takes, spelling = arityRequired, strings.TrimSuffix(spelling, "=")
		}
		own := o
		if takes != o.arity && o.canonical != "" {
			// A short spelling may take its value otherwise than the long one.
			own = &option{canonical: o.canonical, act: does}
		}
		own.arity = takes
		if o.canonical == "" || (!strings.HasPrefix(o.canonical, "--") && strings.HasPrefix(spelling, "--")) {
			o.canonical, own.canonical = spelling, spelling
		}
		if prog.options[spelling] != nil {
			return fmt.Errorf("option %q is described twice", spelling)
		}
		prog.options[spelling] = own
		if strings.HasPrefix(spelling, "--") {
			prog.long = append(prog.long, spelling)
		}
	}
	if o.canonical == "" {
		return errors.New("an option without a name")
	}
	for _, spelling := range spellings {
		prog.options[strings.TrimRight(spelling, "[=]")].canonical = o.canonical
	}
	return nil
}

func (p *tableParser) operandsOf(prog *program, e *programEntry) error {
	for _, line := range e.Operands {
		words := strings.Fields(line)
		if len(words) == 0 {
			return errors.New("an empty operand")
		}
		name, many := strings.CutSuffix(words[0], "...")
		does, ok := actNames[name]
		if !ok {
			return fmt.Errorf("unknown kind of operand %q", name)
		}
		o := operand{act: does, many: many}
		if len(words) > 1 {
			if words[1] != "unless" {
				return fmt.Errorf("operand %q: expected unless", line)
			}
			o.unless = words[2:]
		}
		prog.operands = append(prog.operands, o)
	}
	if e.AfterDashes != "" {
		does, ok := actNames[e.AfterDashes]
		if !ok {
			return fmt.Errorf("unknown kind of operand %q", e.AfterDashes)
		}
		prog.afterDashes, prog.hasDashes = does, true
	}
	var err error
	if prog.implicit, err = implicitEffects(e.Implicit); err != nil {
		return err
	}
	prog.inherent, err = implicitEffects(e.Inherent)
	return err
}

// implicitEffects reads lines such as "reads ." or "deletes . with --force".
func implicitEffects(lines []string) ([]implicitEffect, error) {
	var all []implicitEffect
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) < 2 {
			return nil, fmt.Errorf("effect %q: expected a kind and a value", line)
		}
		does, ok := actNames[words[0]]
		if !ok {
			return nil, fmt.Errorf("unknown kind of effect %q", words[0])
		}
		e := implicitEffect{act: does, value: words[1]}
		if len(words) > 2 {
			if words[2] != "with" {
				return nil, fmt.Errorf("effect %q: expected with", line)
			}
			e.with = words[3:]
		}
		all = append(all, e)
	}
	return all, nil
}
