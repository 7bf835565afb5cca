package programs

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/decisions/effects/settings"
)

// ParseTable reads program files (name -> content). Unknown keys, unknown words and
// a program that two files describe are errors, which name the file, the line and
// the program.
func ParseTable(files map[string][]byte) (*Table, error) {
	return newTable(slices.Sorted(maps.Keys(files)), func(name string) (*tableFile, error) { return decodeTableFile(files[name]) })
}

// newTable makes the table of the files with these names, which file returns.
func newTable(names []string, file func(name string) (*tableFile, error)) (*Table, error) {
	p := &tableParser{
		table: &Table{programs: map[string]*Program{}, subs: map[string]bool{}, Shell: shellTable{
			harmlessEnv: map[string]bool{}, programVars: map[string]bool{}, Nothing: map[string]bool{}, Numbers: map[string]bool{}, State: map[string]bool{},
			Network: map[string]bool{}, folders: map[string]bool{}, DataInput: map[string]bool{}, Shipped: map[string]bool{},
		}, groups: map[string]optionList{}, settings: map[string]*settings.Format{}},
	}
	p.groups = p.table.groups
	parsed := map[string]*tableFile{}
	for _, name := range names {
		file, err := file(name)
		if err != nil {
			return nil, inTableFile(name, err)
		}
		if len(file.Extend) > 0 {
			return nil, inTableFile(name, file.Extend[0].errorf("only layers extend programs"))
		}
		parsed[name] = file
		for group, list := range file.Groups {
			if p.groups[group] != nil {
				return nil, inTableFile(name, list.errorf("group %q is described twice", group))
			}
			p.groups[group] = list
		}
		if file.Shell != nil {
			p.shell(file.Shell)
		}
		for i := range file.Settings {
			e := &file.Settings[i]
			s, err := newSettings(e)
			if err != nil {
				return nil, inTableFile(name, err)
			}
			if p.table.settings[e.Name.text] != nil {
				return nil, inTableFile(name, e.Name.errorf("settings %q are described twice", e.Name.text))
			}
			p.table.settings[e.Name.text] = s
		}
		if err := p.prints(file.Prints); err != nil {
			return nil, inTableFile(name, err)
		}
	}
	for _, name := range names {
		for i := range parsed[name].Programs {
			if err := p.add(&parsed[name].Programs[i]); err != nil {
				return nil, inTableFile(name, err)
			}
		}
	}
	for _, name := range names {
		if err := p.shims(parsed[name].Shims); err != nil {
			return nil, inTableFile(name, err)
		}
		if err := p.same(parsed[name].Same); err != nil {
			return nil, inTableFile(name, err)
		}
		if err := p.runs(parsed[name].Runs); err != nil {
			return nil, inTableFile(name, err)
		}
	}
	p.table.indexPrinters()
	for name, program := range p.table.programs {
		p.table.Shell.Shipped[name] = true
		p.table.addSubcommands(program)
	}
	return p.table, nil
}

func decodeTableFile(data []byte) (*tableFile, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	file := &tableFile{}
	if err := dec.Decode(file); err != nil && !errors.Is(err, io.EOF) {
		return nil, clarifyYAMLError(err)
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

func (p *tableParser) add(e *programEntry) error {
	prog, err := p.program(e)
	if err != nil {
		return fmt.Errorf("program %q: %w", strings.Join(prog.Names, " "), err)
	}
	for _, name := range prog.Names {
		if strings.Contains(name, "*") {
			return e.errorf("program %q: only sub-commands have a * in their names", name)
		}
	}
	return register(p.table.programs, prog, e)
}

func register(into map[string]*Program, prog *Program, e *programEntry) error {
	for alias, name := range prog.Aliases {
		if !slices.Contains(prog.Names, name) {
			return e.errorf("alias %q stands for %q, which is no name of the program", alias, name)
		}
	}
	for _, name := range slices.Concat(prog.Names, slices.Sorted(maps.Keys(prog.Aliases))) {
		if name == "" || strings.ContainsAny(name, "/ ") {
			return e.errorf("program %q: a name is one word without a slash", name)
		}
		if into[name] != nil {
			return e.errorf("program %q is described twice", name)
		}
		into[name] = prog
	}
	return nil
}

var styles = map[string]style{
	"": StyleGNU, "gnu": StyleGNU, "words": StyleWords, "find": StyleFind, "test": StyleTest, "assign": StyleAssign,
	"ps": StylePS,
}

// program parses an entry. On an error the returned program still has its names.
func (p *tableParser) program(e *programEntry) (*Program, error) {
	prog := &Program{traits: e.traits, Names: texts(e.Names), Options: map[string]*Option{}, ReadonlyOperands: -1, below: e.Everywhere}
	if len(e.Names) == 0 {
		return prog, errors.New("it has no names")
	}
	var err error
	if prog.Obeys, err = p.obeyedFiles(e.Obeys); err != nil {
		return prog, err
	}
	if prog.Does, err = descriptions(e.Does); err != nil {
		return prog, err
	}
	if e.ReadonlyOperands != nil {
		prog.ReadonlyOperands = *e.ReadonlyOperands
	}
	if w := e.Wrapper; w != nil {
		prog.Wrapper = &wrapper{
			Transparent: w.Transparent, Skip: w.Skip, Assignments: w.Assignments, Appends: w.Appends,
			Dashes: w.Dashes, Elsewhere: w.Elsewhere, Joined: w.Joined, Scripts: w.Scripts, Itself: w.Itself,
		}
		prog.Stop = !w.Dashes
	}
	var ok bool
	if prog.Style, ok = styles[e.Style]; !ok {
		return prog, e.errorf("unknown style %q", e.Style)
	}
	switch e.Interpreter {
	case "", "shell", "other":
	default:
		return prog, e.errorf("unknown interpreter %q", e.Interpreter)
	}
	if err := p.optionsOf(prog, e); err != nil {
		return prog, err
	}
	if err := p.operandsOf(prog, e); err != nil {
		return prog, err
	}
	return prog, p.subsOf(prog, e)
}

// subsOf parses the sub-commands, which inherit how words are read.
func (p *tableParser) subsOf(prog *Program, e *programEntry) error {
	for i := range e.Sub {
		sub := &e.Sub[i]
		sub.inherit(e)
		if prog.Subs == nil {
			prog.Subs = map[string]*Program{}
		}
		inner, err := p.program(sub)
		if err == nil {
			inner.Names = slices.DeleteFunc(inner.Names, func(name string) bool {
				head, found := strings.CutSuffix(name, "*")
				if found {
					prog.subHeads = append(prog.subHeads, subHead{head, inner})
				}
				return found
			})
			err = register(prog.Subs, inner, sub)
		}
		if err != nil {
			return fmt.Errorf("sub-command %q: %w", strings.Join(inner.Names, " "), err)
		}
	}
	return nil
}

// inherit copies what a program and its sub-commands have in common.
func (e *programEntry) inherit(from *programEntry) {
	e.Abbreviations = e.Abbreviations || from.Abbreviations
	e.Repository = e.Repository || from.Repository
	e.Network = e.Network || from.Network
	e.Open = e.Open || from.Open
	if e.Targets == "" {
		e.Targets = from.Targets
	}
	e.Everywhere = append(slices.Clip(from.Everywhere), e.Everywhere...)
	e.Obeys = append(slices.Clip(from.Obeys), e.Obeys...)
	if e.Style == "" {
		e.Style = from.Style
	}
}

func (p *tableParser) optionsOf(prog *Program, e *programEntry) error {
	lists := []optionList{e.Options}
	for _, name := range slices.Concat(e.Include, e.Everywhere) {
		group, ok := p.groups[name]
		if !ok {
			return e.errorf("unknown group %q", name)
		}
		lists = append(lists, group)
	}
	prog.PlainOptions = true
	for n, list := range lists {
		// A program's own options win over those of groups.
		group := n > 0
		for _, name := range slices.Sorted(maps.Keys(list)) {
			role, ok := roleNames[name]
			if !ok {
				return list.errorf("unknown role of options %q", name)
			}
			switch role {
			case RoleText, RoleReads, RoleGlobs, RoleTypes:
			default:
				prog.PlainOptions = e.PlainOptions
			}
			for _, line := range list[name] {
				if err := addOption(prog, line.text, role, group); err != nil {
					return &lineError{line.line, err}
				}
			}
		}
	}
	slices.Sort(prog.long)
	return nil
}

// addOption parses one line of spellings such as "-o= --output=". From a group, only
// spellings are added that the program does not have.
func addOption(prog *Program, line string, role Role, group bool) error {
	o := &Option{Role: role}
	var spellings []string
	for _, spelling := range strings.Fields(line) {
		takes := ArityNone
		switch {
		case strings.HasSuffix(spelling, "[=]"):
			takes, spelling = ArityOptional, strings.TrimSuffix(spelling, "[=]")
		case strings.HasSuffix(spelling, "=="):
			takes, spelling = ArityTwo, strings.TrimSuffix(spelling, "==")
		case strings.HasSuffix(spelling, "="):
			takes, spelling = ArityRequired, strings.TrimSuffix(spelling, "=")
		}
		if prog.Options[spelling] != nil {
			if group {
				continue
			}
			return fmt.Errorf("option %q is described twice", spelling)
		}
		spellings = append(spellings, spelling)
		own := o
		if takes != o.Arity && o.Canonical != "" {
			// The short spelling may take its value differently from the long one.
			own = &Option{Canonical: o.Canonical, Role: role}
		}
		own.Arity = takes
		if o.Canonical == "" || (!strings.HasPrefix(o.Canonical, "--") && strings.HasPrefix(spelling, "--")) {
			o.Canonical, own.Canonical = spelling, spelling
		}
		prog.Options[spelling] = own
		if strings.HasPrefix(spelling, "--") {
			prog.long = append(prog.long, spelling)
		}
	}
	if o.Canonical == "" && !group {
		return errors.New("an option without a name")
	}
	for _, spelling := range spellings {
		prog.Options[spelling].Canonical = o.Canonical
	}
	return nil
}

func (p *tableParser) operandsOf(prog *Program, e *programEntry) error {
	for _, line := range e.Operands {
		words := strings.Fields(line.text)
		if len(words) == 0 {
			return line.errorf("an empty operand")
		}
		name, many := strings.CutSuffix(words[0], "...")
		role, ok := roleNames[name]
		if !ok {
			return line.errorf("unknown role of operands %q", name)
		}
		o := Operand{Role: role, Many: many}
		if len(words) > 1 {
			switch words[1] {
			case "unless":
				o.Unless = words[2:]
			case "if":
				o.Only = words[2:]
			default:
				return line.errorf("operand %q: expected unless or if", line.text)
			}
		}
		prog.Operands = append(prog.Operands, o)
	}
	if e.AfterDashes != "" {
		role, ok := roleNames[e.AfterDashes]
		if !ok {
			return e.errorf("unknown role of operands %q", e.AfterDashes)
		}
		prog.AfterDashes, prog.HasDashes = role, true
	}
	var err error
	if prog.Implicit, err = implicitEffects(e.Implicit); err != nil {
		return err
	}
	prog.Inherent, err = implicitEffects(e.Inherent)
	return err
}

// implicitEffects parses lines such as "reads ." or "deletes . with --force unless
// --list".
func implicitEffects(lines []textNode) ([]ImplicitEffect, error) {
	var all []ImplicitEffect
	for _, line := range lines {
		words := strings.Fields(line.text)
		if len(words) < 2 {
			return nil, line.errorf("effect %q: expected a role and a value", line.text)
		}
		role, ok := roleNames[words[0]]
		if !ok {
			return nil, line.errorf("unknown role of effects %q", words[0])
		}
		e := ImplicitEffect{Role: role, Value: words[1]}
		rest := words[2:]
		if len(rest) > 0 && rest[0] == "sometimes" {
			if e.Role != RoleConnects && e.Role != RoleSends {
				return nil, line.errorf("effect %q: only connections are made sometimes", line.text)
			}
			rest, e.Sometimes = rest[1:], true
		}
		if at := slices.Index(rest, "unless"); at >= 0 {
			rest, e.Unless = rest[:at], rest[at+1:]
		}
		if len(rest) > 0 {
			if rest[0] != "with" {
				return nil, line.errorf("effect %q: expected with or unless", line.text)
			}
			e.With = rest[1:]
		}
		all = append(all, e)
	}
	return all, nil
}
