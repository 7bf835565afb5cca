package setup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/jsonedit"
)

// acpEntries is the configEditor of an agent's entries in a client's file. It puts
// permd in front of their commands.
type acpEntries struct {
	client *acpClient
	agent  *clientAgent
	home   string
	// hidden are entries of the agent without a command, found by install: the
	// client knows how to start them.
	hidden []string
	added  bool // install has added an entry
}

// acpEntry is an entry with the command of its agent.
type acpEntry struct {
	key   string
	words []string // the whole command
	node  jsonedit.Node
	// How it is written: as argv, or as a command with or without args.
	argv, command, args jsonedit.Node
	line                []lineWord // if the command is one string
}

func (e *acpEntries) parse(text []byte) (*jsonedit.Text, error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) == 0 {
		text = []byte("{}\n")
	}
	t, err := jsonedit.Parse(text, e.client.dialect)
	if err != nil {
		return nil, cli.Failf(cli.ExitError, "correct the file first", "it cannot be read: %v", err)
	}
	return t, nil
}

// formatError returns an error for a file of an unexpected structure.
func (e *acpEntries) formatError(format string, args ...any) error {
	return cli.Failf(cli.ExitError, "correct the file first: "+e.client.title+" does not understand it either", "in it, "+format, args...)
}

// entries returns the entries with a command, of all agents or of this one.
func (e *acpEntries) entries(t *jsonedit.Text, all bool) (found []acpEntry, err error) {
	e.hidden = nil
	list := t.Root().Member(e.client.list)
	switch {
	case t.Root().Kind() != '{':
		return nil, e.formatError("the file is not an object")
	case list.Exists() && list.Kind() != '{':
		return nil, e.formatError("%s is not an object", e.client.list)
	}
	for i := range list.Len() {
		node := list.At(i)
		entry := e.entry(node.Name(), node)
		switch err := e.read(&entry); {
		case err != nil && (all || !e.agent.hasName(entry.key)):
			continue // another agent's
		case err != nil:
			return nil, err
		case len(entry.words) == 0 && !all && e.agent.hasName(entry.key):
			e.hidden = append(e.hidden, entry.key)
		case len(entry.words) > 0 && (all || e.agent.hasName(entry.key) || e.agent.matchesCommand(unwrapWords(entry.words))):
			found = append(found, entry)
		}
	}
	return found, nil
}

func (e *acpEntries) entry(key string, node jsonedit.Node) acpEntry {
	entry := acpEntry{key: key, node: node, command: node.Member("command"), args: node.Member("args")}
	if e.client.lines {
		entry.argv = node.Member("argv") // acpx only
	}
	return entry
}

// read reads the command of an entry.
func (e *acpEntries) read(entry *acpEntry) error {
	where := e.client.list + "." + display.Display(entry.key)
	if entry.node.Kind() != '{' {
		return e.formatError("%s is not an object", where)
	}
	if entry.argv.Exists() {
		words, ok := texts(entry.argv)
		if !ok || len(words) == 0 || entry.command.Exists() || entry.args.Exists() {
			return e.formatError("%s.argv is not the whole command as a list of texts", where)
		}
		entry.words = words
		return nil
	}
	if !entry.command.Exists() {
		return nil
	}
	args, ok := texts(entry.args)
	if entry.command.Kind() != '"' || entry.command.String() == "" || !ok {
		return e.formatError("%s has a command that is no text, or args that are no list of texts", where)
	}
	if e.client.lines && !entry.args.Exists() {
		if entry.line, ok = splitLine(entry.command.String()); !ok {
			return e.formatError("%s.command has a quote without an end, or nothing", where)
		}
		for _, w := range entry.line {
			entry.words = append(entry.words, w.text)
		}
		return nil
	}
	entry.words = append([]string{entry.command.String()}, args...)
	return nil
}

// texts returns the elements of a list of strings, nil if there is no list.
func texts(list jsonedit.Node) (words []string, ok bool) {
	if list.Exists() && list.Kind() != '[' {
		return nil, false
	}
	for i := range list.Len() {
		if list.At(i).Kind() != '"' {
			return nil, false
		}
		words = append(words, list.At(i).String())
	}
	return words, true
}

// permdWords returns how many leading words of a command are permd's: the program,
// acp, its flags and --. It is 0 if the command does not run permd.
func permdWords(words []string) int {
	if len(words) < 3 || !isPermd(words[0]) || words[1] != "acp" {
		return 0
	}
	if i := slices.Index(words, "--"); i > 0 {
		return i + 1
	}
	return 0
}

// namesPermd reports whether permd is run anywhere in a command, such as after env or
// in shell text.
func namesPermd(words []string) bool {
	return isPermd(words[0]) || slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "permd acp ") }) ||
		slices.ContainsFunc(words, isPermd) && slices.Contains(words, "acp") && slices.Contains(words, "--")
}

// unwrapWords returns a command without permd.
func unwrapWords(words []string) []string { return words[permdWords(words):] }

// current reports whether there is nothing to install: the agent has entries, and
// all of them run this permd.
func (e *acpEntries) current(text []byte, program string) bool {
	t, err := e.parse(text)
	if err != nil {
		return false
	}
	found, err := e.entries(t, false)
	return err == nil && len(found) > 0 && !slices.ContainsFunc(found, func(entry acpEntry) bool {
		return permdWords(entry.words) == 0 || entry.words[0] != program
	})
}

func (e *acpEntries) installsInPlace() {}

// otherCommands returns notes about entries whose command differs from the given
// one. install does not change them.
func (e *acpEntries) otherCommands(text []byte) (notes []string) {
	if !e.agent.commandGiven {
		return nil
	}
	t, err := e.parse(text)
	if err != nil {
		return nil // reported when planning
	}
	hidden := e.hidden
	found, _ := e.entries(t, false)
	e.hidden = hidden
	for _, entry := range found {
		if words := unwrapWords(entry.words); !slices.Equal(words, e.agent.command) && !slices.Equal(words, e.defaultCommand()) {
			notes = append(notes, fmt.Sprintf("%s was there and keeps its own command, %s: change that in the file", display.Display(entry.key), display.Display(cli.QuoteAll(words))))
		}
	}
	return notes
}

func (e *acpEntries) install(text []byte, program string) ([]byte, error) {
	t, err := e.parse(text)
	if err != nil {
		return nil, err
	}
	found, err := e.entries(t, false)
	if err != nil {
		return nil, err
	}
	for _, entry := range found {
		// Each edit returns a new text, which invalidates the entries.
		entry = e.reread(t, entry)
		if permdWords(entry.words) == 0 && namesPermd(entry.words) {
			return nil, cli.Failf(cli.ExitError, "take permd out of it by hand", "in it, %s runs permd, but not as install writes it", display.Display(entry.key))
		}
		if t, err = e.wrap(t, entry, program); err != nil {
			return nil, err
		}
	}
	if e.added = len(found) == 0; !e.added {
		return t.Bytes(), nil
	}
	if len(e.agent.command) == 0 {
		return nil, cli.Failf(cli.ExitUsage, "say how it is started: … "+e.agent.name+" -- COMMAND ARGS...", "%s has no entry called %q, and permd knows no agent of that name", e.client.title, e.agent.name)
	}
	key := e.newKey()
	if t.Root().Member(e.client.list, key).Exists() {
		return nil, cli.Failf(cli.ExitError, "take it out first", "in it, %s.%s is something else", e.client.list, key)
	}
	value, err := json.Marshal(e.value(program))
	if err != nil {
		return nil, fmt.Errorf("encoding an agent: %w", err)
	}
	if t, err = t.Set(string(value), e.client.list, key); err != nil {
		if kind, ok := errors.AsType[*jsonedit.KindError](err); ok {
			return nil, e.formatError("%v", kind)
		}
		return nil, err
	}
	return t.Bytes(), nil
}

// reread returns the entry in an edited text.
func (e *acpEntries) reread(t *jsonedit.Text, old acpEntry) acpEntry {
	node := t.Root().Member(e.client.list, old.key)
	entry := e.entry(old.key, node)
	_ = e.read(&entry) // it was read before
	return entry
}

// newKey returns the name of an entry that install adds.
func (e *acpEntries) newKey() string {
	if e.client.lines {
		return strings.ToLower(e.agent.name)
	}
	return e.agent.label + permdSuffix
}

// value returns the entry that install adds.
func (e *acpEntries) value(program string) any {
	type command struct {
		Type    string            `json:"type,omitzero"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
	}
	if e.client.lines {
		return struct {
			Command string `json:"command"`
		}{cli.QuoteAll(slices.Concat([]string{program, "acp", "--"}, e.agent.command))}
	}
	c := command{Command: program, Args: append([]string{"acp", "--"}, e.defaultCommand()...), Env: map[string]string{}}
	if e.client.typed {
		c.Type = "custom"
	}
	return c
}

// defaultCommand returns the agent's command as written to a new entry.
func (e *acpEntries) defaultCommand() []string {
	words := slices.Clone(e.agent.command)
	if e.client.full {
		if path, err := exec.LookPath(words[0]); err == nil {
			words[0] = path
		}
	}
	return words
}

// firstWord returns the command of an entry as permd has to be given it: Zed expands
// ~ in it, and permd does not.
func (e *acpEntries) firstWord(entry acpEntry) (string, error) {
	raw, command := string(entry.command.Raw()), entry.command.String()
	if rest, ok := strings.CutPrefix(command, "~/"); ok {
		return quoteJSON(filepath.Join(e.home, rest)), nil
	}
	if strings.ContainsAny(command, "$`") {
		return "", cli.Failf(cli.ExitError, "write the path in full", "in it, the command of %s has a variable, which permd would not replace", display.Display(entry.key))
	}
	if strings.ContainsAny(command, " \t") && !entry.args.Exists() {
		if _, err := os.Stat(command); err != nil {
			return "", cli.Failf(cli.ExitError, "write the program as its command, and the rest as its args", "in it, the command of %s may be a program with arguments", display.Display(entry.key))
		}
	}
	return raw, nil
}
