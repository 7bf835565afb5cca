package choices

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/socket/admin"
)

// Importable is what a file has: choices, the words for each of them, and those for what is left
// out.
type Importable struct {
	Choices []admin.ImportedChoice
	Words   []string
	LeftOut []string
}

func (p *Importable) add(c admin.ImportedChoice) {
	p.Choices = append(p.Choices, c)
	p.Words = append(p.Words, fmt.Sprintf("%s %s %s", c.Verdict, c.Kind, c.Line))
}

// LeaveOut notes what is left out, and why.
func (p *Importable) LeaveOut(words, why string) {
	p.LeftOut = append(p.LeftOut, display.Display(words)+": "+display.Display(why))
}

// SaysScopes reports whether a file is of permd remember export --json, where each choice says its
// scope.
func SaysScopes(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
}

// ParseImport reads what permd remember export prints, with --json or as a rules.yaml, whose entries
// get the scope and the folder of o.
func ParseImport(data []byte, o *admin.NewChoice, now time.Time) (*Importable, error) {
	var p Importable
	if !SaysScopes(data) {
		entries, err := list.Parse("the file", data)
		if err != nil && strings.Contains(err.Error(), ": the list is no map") {
			return nil, cli.Failf(cli.ExitError, "the form is that of: permd remember export, with or without --json", "the file is neither JSON nor a list of rules")
		}
		if err != nil {
			return nil, fmt.Errorf("reading choices: %w", err)
		}
		for i := range entries {
			e, c := &entries[i], admin.ImportedChoice{NewChoice: *o}
			c.Kind, c.Line, c.Verdict = string(e.Kind), e.Pattern.String(), decisions.Verdict(e.Set)
			if e.Set == decisions.SetAsk {
				p.LeaveOut(fmt.Sprintf("ask %s %s", c.Kind, c.Line), "an entry that asks is a rule, and no choice")
				continue
			}
			p.add(c)
		}
		return &p, nil
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var c admin.Choice
		err := strictjson.Unmarshal(line, &c)
		if err == nil && c.ID == "" {
			err = errors.New("it has no choiceId")
		}
		if err == nil && c.Expires.IsZero() && hasExpires(line) {
			c.Expires = time.Unix(0, 0) // a time, though Go's zero one, and as past
		}
		if err == nil && c.Verdict != decisions.Allow && c.Verdict != decisions.Deny {
			err = fmt.Errorf("no verdict %q is remembered", c.Verdict)
		}
		if err != nil {
			return nil, cli.Failf(cli.ExitError, "the form is that of: permd remember export --json", "line %d of the file is no choice: %v", n+1, err)
		}
		p.addChoice(&c, now)
	}
	return &p, nil
}

// hasExpires reports whether a choice has a time limit, whatever it is.
func hasExpires(line []byte) bool {
	o, err := strictjson.ParseObject(line)
	for _, m := range o {
		if m.Name == "expires" && m.Value.Kind() != 'n' {
			return true
		}
	}
	return err != nil
}

// addChoice adds the parts of a choice that was exported, all of them or none.
func (p *Importable) addChoice(c *admin.Choice, now time.Time) {
	words := fmt.Sprintf("%s %s %s", c.Verdict, c.Kind, strings.ReplaceAll(c.Rule, "\n", " and "))
	left := time.Duration(0)
	if !c.Expires.IsZero() {
		left = c.Expires.Sub(now)
	}
	switch {
	case c.Scope != "project" && c.Scope != "user":
		p.LeaveOut(words, "it is for a session")
		return
	case c.Unconfirmed:
		p.LeaveOut(words, "nobody has confirmed it")
		return
	case c.Changed != "":
		p.LeaveOut(words, "an earlier permd stored it")
		return
	case !c.Expires.IsZero() && left < time.Second:
		p.LeaveOut(words, "its time has passed")
		return
	}
	if !sayAll(c) {
		p.LeaveOut(words, whyNot(c))
		return
	}
	if c.Verdict == decisions.Allow && c.Confirmed.IsZero() {
		// What is imported is as if the person had added it, which holds for guarded paths too.
		p.LeaveOut(words, "a client reported it; confirm it before it is exported: permd remember confirm")
		return
	}
	for _, part := range Parts(c) {
		p.add(admin.ImportedChoice{Of: c.Of, NewChoice: admin.NewChoice{
			Verdict: c.Verdict, Kind: part.Kind, Line: part.Rule, Scope: c.Scope, Dir: c.Of, ExpiresIn: int64(left / time.Second),
		}})
	}
}

// whyNot says why lines cannot say all that a choice is matched by.
func whyNot(c *admin.Choice) string {
	if c.BoundTo != "" && c.Kind == "run" && !strings.Contains(c.Rule, display.Masked) {
		words := []string{"permd", "remember", "add", "run", c.Rule}
		dir := c.Of
		for _, pin := range c.Pins {
			if in, ok := strings.CutPrefix(pin, "run in "); ok {
				dir = in
			}
		}
		if dir != "" {
			words = append(words, "--dir", dir)
		}
		return "bound to files; add it again: " + cli.QuoteAll(words)
	}
	if len(c.Pins) > 0 {
		return "it also says: " + strings.Join(c.Pins, ", ")
	}
	return "its line does not say all that it is matched by"
}
