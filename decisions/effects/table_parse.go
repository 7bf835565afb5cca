package effects

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ParseTable reads program files (name -> content). It fails on unknown keys,
// on a program that two files describe, and on words it does not know, naming
// the file, the line and the program.
func ParseTable(files map[string][]byte) (*Table, error) {
	p := &tableParser{
		table: &Table{programs: map[string]*program{}, shell: shellTable{
			harmlessEnv: map[string]bool{}, nothing: map[string]bool{}, numbers: map[string]bool{}, state: map[string]bool{},
			network: map[string]bool{}, folders: map[string]bool{}, dataInput: map[string]bool{}, shipped: map[string]bool{},
		}, groups: map[string]optionList{}, settings: map[string]*settings{}, reader: &shellReader{}},
	}
	p.groups = p.table.groups
	parsed := map[string]*tableFile{}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		file, err := decodeTableFile(files[name])
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
		if e := parsed[name].Shims; e != nil {
			if err := p.shims(e); err != nil {
				return nil, inTableFile(name, err)
			}
		}
	}
	for _, name := range names {
		if err := p.same(parsed[name].Same); err != nil {
			return nil, inTableFile(name, err)
		}
	}
	p.table.indexPrinters()
	for name := range p.table.programs {
		p.table.shell.shipped[name] = true
	}
	return p.table, nil
}

// inTableFile names the file, and the line where the error knows it.
func inTableFile(name string, err error) error {
	if at, ok := errors.AsType[*lineError](err); ok && at.line > 0 {
		return fmt.Errorf("reading program table %s:%d: %w", name, at.line, err)
	}
	return fmt.Errorf("reading program table %s: %w", name, err)
}

func decodeTableFile(data []byte) (*tableFile, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	file := &tableFile{}
	if err := dec.Decode(file); err != nil && !errors.Is(err, io.EOF) {
		return nil, tidyYAML(err)
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
		&t.nothing: e.Nothing, &t.numbers: e.Numbers, &t.state: e.State, &t.network: e.Network, &t.folders: e.SystemFolders, &t.dataInput: e.DataInput,
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
		return fmt.Errorf("program %q: %w", strings.Join(prog.names, " "), err)
	}
	for _, name := range prog.names {
		if strings.Contains(name, "*") {
			return e.errorf("program %q: only sub-commands have a * in their names", name)
		}
	}
	return register(p.table.programs, prog, e)
}

func register(into map[string]*program, prog *program, e *programEntry) error {
	for alias, name := range prog.aliases {
		if !slices.Contains(prog.names, name) {
			return e.errorf("alias %q stands for %q, which is no name of the program", alias, name)
		}
	}
	for _, name := range slices.Concat(prog.names, slices.Sorted(maps.Keys(prog.aliases))) {
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
	"": styleGNU, "gnu": styleGNU, "words": styleWords, "find": styleFind, "test": styleTest, "assign": styleAssign,
}

// program reads an entry. What it returns with an error has its names.
func (p *tableParser) program(e *programEntry) (*program, error) {
	prog := &program{
		names: texts(e.Names), options: map[string]*option{},
		subOptional: e.SubOptional, readonly: e.Readonly, readonlyOperands: -1,
		readonlyWith: e.ReadonlyWith, changing: e.UnknownIfChanging,
		abbreviations: e.Abbreviations, numeric: e.Numeric, valuesBehind: e.ValuesBehind, stop: e.Stop, text: e.Text,
		recursive: e.Recursive, recursiveWith: e.RecursiveWith, writesWith: e.WritesWith,
		deletesWith: e.DeletesWith, clearsWith: e.ClearsWith, keepsPaths: e.KeepsPathsWith,
		skipsHidden: e.SkipsHidden, rearranges: e.Rearranges, disturbsWith: e.DisturbsWith,
		network: e.Network, repository: e.Repository, interpreter: e.Interpreter, unknown: e.Unknown,
		implies: e.Implies, aliases: e.Aliases, dashless: e.Dashless, archivesWith: e.ArchivesWith,
		keepsWith: e.KeepsWith, modules: e.Modules, open: e.Open, openSubs: e.OpenSubs, targets: e.Targets,
		unpacksWith: e.UnpacksWith, unpacksUnless: e.UnpacksUnless, completes: e.Completes, obeysInput: e.ObeysInput, below: e.Everywhere,
	}
	if len(e.Names) == 0 {
		return prog, errors.New("it has no names")
	}
	prog.readonlyAlone = e.ReadonlyAlone
	var err error
	if prog.obeys, err = p.obeyedFiles(e.Obeys); err != nil {
		return prog, err
	}
	if e.ReadonlyOperands != nil {
		prog.readonlyOperands = *e.ReadonlyOperands
	}
	if w := e.Wrapper; w != nil {
		prog.wrapper = &wrapper{
			transparent: w.Transparent, skip: w.Skip, assignments: w.Assignments, appends: w.Appends,
			dashes: w.Dashes, elsewhere: w.Elsewhere, joined: w.Joined, scripts: w.Scripts, itself: w.Itself,
		}
		prog.stop = !w.Dashes
	}
	var ok bool
	if prog.style, ok = styles[e.Style]; !ok {
		return prog, e.errorf("unknown style %q", e.Style)
	}
	switch e.Interpreter {
	case "", "shell", "other":
	default:
		return prog, e.errorf("unknown kind of interpreter %q", e.Interpreter)
	}
	if err := p.optionsOf(prog, e); err != nil {
		return prog, err
	}
	if err := p.operandsOf(prog, e); err != nil {
		return prog, err
	}
	return prog, p.subsOf(prog, e)
}

// subsOf reads the sub-commands. How words are read is the same all the way
// down.
func (p *tableParser) subsOf(prog *program, e *programEntry) error {
	for i := range e.Sub {
		sub := &e.Sub[i]
		sub.inherit(e)
		if prog.subs == nil {
			prog.subs = map[string]*program{}
		}
		inner, err := p.program(sub)
		if err == nil {
			inner.names = slices.DeleteFunc(inner.names, func(name string) bool {
				head, found := strings.CutSuffix(name, "*")
				if found {
					prog.subHeads = append(prog.subHeads, subHead{head, inner})
				}
				return found
			})
			err = register(prog.subs, inner, sub)
		}
		if err != nil {
			return fmt.Errorf("sub-command %q: %w", strings.Join(inner.names, " "), err)
		}
	}
	return nil
}

// inherit takes over what is the same for a program and its sub-commands.
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

func (p *tableParser) optionsOf(prog *program, e *programEntry) error {
	lists := []optionList{e.Options}
	for _, name := range slices.Concat(e.Include, e.Everywhere) {
		group, ok := p.groups[name]
		if !ok {
			return e.errorf("unknown group %q", name)
		}
		lists = append(lists, group)
	}
	prog.plainOptions = true
	for n, list := range lists {
		// What a program says itself wins over what groups say.
		group := n > 0
		for _, name := range slices.Sorted(maps.Keys(list)) {
			does, ok := actNames[name]
			if !ok {
				return list.errorf("unknown kind of option %q", name)
			}
			switch does {
			case actText, actReads, actGlobs, actTypes:
			default:
				prog.plainOptions = e.PlainOptions
			}
			for _, line := range list[name] {
				if err := addOption(prog, line.text, does, group); err != nil {
					return &lineError{line.line, err}
				}
			}
		}
	}
	slices.Sort(prog.long)
	return nil
}

// addOption reads one line of spellings such as "-o= --output=". Of a group,
// only spellings are taken that the program does not have.
func addOption(prog *program, line string, does act, group bool) error {
	o := &option{act: does}
	var spellings []string
	for _, spelling := range strings.Fields(line) {
		takes := arityNone
		switch {
		case strings.HasSuffix(spelling, "[=]"):
			takes, spelling = arityOptional, strings.TrimSuffix(spelling, "[=]")
		case strings.HasSuffix(spelling, "=="):
			takes, spelling = arityTwo, strings.TrimSuffix(spelling, "==")
		case strings.HasSuffix(spelling, "="):
			takes, spelling = arityRequired, strings.TrimSuffix(spelling, "=")
		}
		if prog.options[spelling] != nil {
			if group {
				continue
			}
			return fmt.Errorf("option %q is described twice", spelling)
		}
		spellings = append(spellings, spelling)
		own := o
		if takes != o.arity && o.canonical != "" {
			// A short spelling may take its value otherwise than the long one.
			own = &option{canonical: o.canonical, act: does}
		}
		own.arity = takes
		if o.canonical == "" || (!strings.HasPrefix(o.canonical, "--") && strings.HasPrefix(spelling, "--")) {
			o.canonical, own.canonical = spelling, spelling
		}
		prog.options[spelling] = own
		if strings.HasPrefix(spelling, "--") {
			prog.long = append(prog.long, spelling)
		}
	}
	if o.canonical == "" && !group {
		return errors.New("an option without a name")
	}
	for _, spelling := range spellings {
		prog.options[spelling].canonical = o.canonical
	}
	return nil
}

func (p *tableParser) operandsOf(prog *program, e *programEntry) error {
	for _, line := range e.Operands {
		words := strings.Fields(line.text)
		if len(words) == 0 {
			return line.errorf("an empty operand")
		}
		name, many := strings.CutSuffix(words[0], "...")
		does, ok := actNames[name]
		if !ok {
			return line.errorf("unknown kind of operand %q", name)
		}
		o := operand{act: does, many: many}
		if len(words) > 1 {
			switch words[1] {
			case "unless":
				o.unless = words[2:]
			case "if":
				o.only = words[2:]
			default:
				return line.errorf("operand %q: expected unless or if", line.text)
			}
		}
		prog.operands = append(prog.operands, o)
	}
	if e.AfterDashes != "" {
		does, ok := actNames[e.AfterDashes]
		if !ok {
			return e.errorf("unknown kind of operand %q", e.AfterDashes)
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

// implicitEffects reads lines such as "reads ." or "deletes . with --force unless
// --list".
func implicitEffects(lines []spelled) ([]implicitEffect, error) {
	var all []implicitEffect
	for _, line := range lines {
		words := strings.Fields(line.text)
		if len(words) < 2 {
			return nil, line.errorf("effect %q: expected a kind and a value", line.text)
		}
		does, ok := actNames[words[0]]
		if !ok {
			return nil, line.errorf("unknown kind of effect %q", words[0])
		}
		e := implicitEffect{act: does, value: words[1]}
		rest := words[2:]
		if at := slices.Index(rest, "unless"); at >= 0 {
			rest, e.unless = rest[:at], rest[at+1:]
		}
		if len(rest) > 0 {
			if rest[0] != "with" {
				return nil, line.errorf("effect %q: expected with or unless", line.text)
			}
			e.with = rest[1:]
		}
		all = append(all, e)
	}
	return all, nil
}
