package setup

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/jsonedit"
)

func quoteJSON(text string) string {
	b, _ := jsontext.AppendQuote(nil, text) // words are valid UTF-8
	return string(b)
}

// wrap puts permd in front of a command, or updates the path of a permd in front of
// it.
func (e *acpEntries) wrap(t *jsonedit.Text, entry acpEntry, program string) (*jsonedit.Text, error) {
	n := permdWords(entry.words)
	if n > 0 && entry.words[0] == program {
		return t, nil
	}
	switch {
	case entry.argv.Exists() && n > 0:
		return t.Replace(entry.argv.At(0), quoteJSON(program))
	case entry.argv.Exists():
		return t.Prepend(entry.argv, quoteJSON(program), `"acp"`, `"--"`)
	case entry.line != nil:
		text := entry.command.String()
		if n > 0 {
			return t.Replace(entry.command, quoteJSON(cli.Quote(program)+text[entry.line[0].end:]))
		}
		return t.Replace(entry.command, quoteJSON(cli.Quote(program)+" acp -- "+strings.TrimSpace(text)))
	}
	if e.client.lines && cli.Quote(program) != program {
		return nil, cli.Failf(cli.ExitError, `put permd at a path without blanks and name it with --exec, or write the entry as "argv"`, "in it, %s has args, and then %s takes no command with blanks", display.Display(entry.key), e.client.title)
	}
	if n == 0 {
		first, err := e.firstWord(entry)
		if err != nil {
			return nil, err
		}
		if entry.args.Exists() {
			t, err = t.Prepend(entry.args, `"acp"`, `"--"`, first)
		} else {
			t, err = t.Set(`["acp","--",`+first+`]`, e.client.list, entry.key, "args")
		}
		if err != nil {
			return nil, err
		}
	}
	return t.Replace(t.Root().Member(e.client.list, entry.key, "command"), quoteJSON(program))
}

// remove removes permd from the agent's entries, and the entries that install
// added.
func (e *acpEntries) remove(text []byte) ([]byte, bool, error) {
	if text == nil {
		return nil, false, nil
	}
	t, err := e.parse(text)
	if err != nil {
		return nil, false, err
	}
	entries, err := e.entries(t, false)
	if err != nil {
		return nil, false, err
	}
	found := false
	for _, entry := range entries {
		n := permdWords(entry.words)
		if n == 0 {
			continue
		}
		found = true
		entry = e.reread(t, entry)
		if e.createdByInstall(entry) {
			if t, err = t.Drop(e.client.list, entry.key); err == nil {
				t, err = prune(t, []string{e.client.list})
			}
		} else {
			t, err = e.unwrap(t, entry, n)
		}
		if err != nil {
			return nil, false, err
		}
	}
	if !found {
		return text, false, nil
	}
	return t.Bytes(), true, nil
}

// createdByInstall reports whether install added an entry. It is recognised by its
// name or, if the client knows the agent, by its contents.
func (e *acpEntries) createdByInstall(entry acpEntry) bool {
	if entry.key != e.newKey() {
		return false
	}
	if !e.client.lines {
		return true
	}
	return entry.node.Len() == 1 && slices.Equal(unwrapWords(entry.words), e.agent.command)
}

// unwrap removes the first n words of a command.
func (e *acpEntries) unwrap(t *jsonedit.Text, entry acpEntry, n int) (_ *jsonedit.Text, err error) {
	if len(entry.words) == n {
		return nil, cli.Failf(cli.ExitError, "correct it by hand", "in it, %s has no agent behind permd", display.Display(entry.key))
	}
	list := []string{e.client.list, entry.key, "args"}
	switch {
	case entry.line != nil:
		text := entry.command.String()
		return t.Replace(entry.command, quoteJSON(strings.TrimSpace(text[entry.line[n-1].end:])))
	case entry.argv.Exists():
		list[2] = "argv"
	default:
		// The command becomes the first word after permd's.
		if t, err = t.Replace(entry.command, string(entry.args.At(n-1).Raw())); err != nil {
			return nil, err
		}
	}
	for range n {
		holder := t.Root().Member(list...)
		if t, err = t.Remove(holder, 0); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (e *acpEntries) check(text []byte) (found configEntries, err error) {
	t, err := e.parse(text)
	if err != nil {
		return found, err
	}
	entries, err := e.entries(t, false)
	if err != nil {
		return found, err
	}
	for _, entry := range entries {
		if permdWords(entry.words) > 0 {
			found.program(entry.words[0])
		} else {
			found.problems = append(found.problems, display.Display(entry.key)+" does not run permd")
		}
	}
	return found, nil
}

// lineWord is a word of a command that is one string, and where it ends.
type lineWord struct {
	text string
	end  int
}

// splitLine splits a command as acpx does: blanks separate words, both kinds of
// quotes group, and a backslash escapes the next character, except in single quotes.
func splitLine(line string) (words []lineWord, ok bool) {
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	flush := func(end int) {
		if begun {
			words = append(words, lineWord{word.String(), end})
		}
		word.Reset()
		begun = false
	}
	for i, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			begun, quote = true, r
		case strings.ContainsRune(" \t\r\n\v\f", r):
			flush(i)
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if escaped {
		word.WriteByte('\\')
	}
	flush(len(line))
	return words, quote == 0 && len(words) > 0 && words[0].text != ""
}
