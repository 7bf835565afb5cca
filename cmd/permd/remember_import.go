package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/socket/admin"
)

// maxImport bounds a file of choices, in bytes.
const maxImport = 32 << 20

func (a *app) rememberImportCommand() *cobra.Command {
	o := admin.NewChoice{Scope: "project"}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Add the choices of a file",
		Long: `Add the choices of a file (- for standard input), as permd remember add would,
and as one change that permd remember undo takes back. The file is what permd
remember export prints: with --json, each choice gets the scope, the project and
the rest of the time that it had; a rules.yaml says none of these, so that its
allow and deny entries hold in the project of the current directory, or
everywhere with --scope user.

Left out, each with the reason, is what would not be the same: choices of
sessions, bound to content, not confirmed, or for a project that is not here.

` + cli.ExitCodes,
		Example: `  permd remember import choices.jsonl
  permd remember import rules.yaml --scope user`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Scope != "project" && o.Scope != "user" {
				return cli.Failf(cli.ExitUsage, "one of: project, user", "unknown scope %q", o.Scope)
			}
			var err error
			if o.Dir, err = filepath.Abs(o.Dir); err != nil {
				return fmt.Errorf("finding the folder: %w", err)
			}
			data, err := a.readImport(args[0])
			if err != nil {
				return err
			}
			return a.rememberImport(cmd.Context(), data, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Scope, "scope", o.Scope, "`scope` of the entries of a rules.yaml: project or user")
	f.StringVar(&o.Dir, "dir", "", "`directory` in the project of a rules.yaml (default: the current one)")
	return cmd
}

func (a *app) readImport(name string) ([]byte, error) {
	in := a.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("reading choices: %w", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err != nil {
		return nil, fmt.Errorf("reading choices: %w", err)
	}
	if len(data) > maxImport {
		return nil, cli.Failf(cli.ExitError, "import it in parts", "the file is longer than %d bytes", maxImport)
	}
	return data, nil
}

// importable is what a file has: choices, and the words for each of them and for those that
// are left out.
type importable struct {
	choices []admin.ImportedChoice
	words   []string
	leftOut []string
}

func (p *importable) add(c admin.ImportedChoice) {
	p.choices = append(p.choices, c)
	p.words = append(p.words, fmt.Sprintf("%s %s %s", c.Verdict, c.Kind, c.Line))
}

func (p *importable) leave(words, why string) {
	p.leftOut = append(p.leftOut, display.Display(words)+": "+display.Display(why))
}

// parseImport reads what permd remember export prints.
func parseImport(data []byte, o *admin.NewChoice, now time.Time) (*importable, error) {
	var p importable
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		entries, err := list.Parse("the file", data)
		if err != nil {
			return nil, fmt.Errorf("reading choices: %w", err)
		}
		for i := range entries {
			e, c := &entries[i], admin.ImportedChoice{NewChoice: *o}
			c.Kind, c.Line, c.Verdict = string(e.Kind), e.Pattern.String(), decisions.Verdict(e.Set)
			if e.Set == decisions.SetAsk {
				p.leave(fmt.Sprintf("ask %s %s", c.Kind, c.Line), "an entry that asks is a rule, and no choice")
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
		if err != nil {
			return nil, cli.Failf(cli.ExitError, "the form is that of: permd remember export --json", "line %d of the file is no choice: %v", n+1, err)
		}
		p.addChoice(&c, now)
	}
	return &p, nil
}

// addChoice adds the parts of a choice that was exported, all of them or none.
func (p *importable) addChoice(c *admin.Choice, now time.Time) {
	words := fmt.Sprintf("%s %s %s", c.Verdict, c.Kind, strings.ReplaceAll(c.Rule, "\n", " and "))
	left := time.Duration(0)
	if !c.Expires.IsZero() {
		left = c.Expires.Sub(now)
	}
	switch {
	case c.Scope != "project" && c.Scope != "user":
		p.leave(words, "it is for a session")
		return
	case c.Unconfirmed:
		p.leave(words, "nobody has confirmed it")
		return
	case c.Changed != "":
		p.leave(words, "an earlier permd stored it")
		return
	case !c.Expires.IsZero() && left < time.Second:
		p.leave(words, "its time has passed")
		return
	}
	for _, part := range partsOf(c) {
		if !lineIsExact(c, part) || !expressibleAsLine(c, part) {
			p.leave(words, "no line can say all that it is bound to")
			return
		}
	}
	for _, part := range partsOf(c) {
		p.add(admin.ImportedChoice{Of: c.Of, NewChoice: admin.NewChoice{
			Verdict: c.Verdict, Kind: part.Kind, Line: part.Rule, Scope: c.Scope, Dir: c.Of, ExpiresIn: int64(left / time.Second),
		}})
	}
}

// rememberImport adds the choices of a file.
func (a *app) rememberImport(ctx context.Context, data []byte, o *admin.NewChoice) error {
	p, err := parseImport(data, o, time.Now())
	if err != nil {
		return err
	}
	return withMemory(ctx, func(m *memoryClient) error {
		var done admin.Imported
		for start := 0; start < len(p.choices); start += admin.MaxList {
			var got admin.Imported
			part := p.choices[start:min(len(p.choices), start+admin.MaxList)]
			if err := m.c.Call(ctx, admin.MethodChoicesImport, map[string][]admin.ImportedChoice{"choices": part}, &got); err != nil {
				return fmt.Errorf("importing choices: %w", err)
			}
			done.Choices = append(done.Choices, got.Choices...)
			done.Undo = append(done.Undo, got.Undo...)
			for _, r := range got.Refused {
				p.leave(p.words[start+r.Index], r.Why)
			}
		}
		if len(done.Choices) > 0 {
			if err := a.printChoices(done.Choices); err != nil {
				return err
			}
		}
		for _, words := range p.leftOut {
			if a.JSON {
				if err := cli.PrintJSON(a.Out, map[string]string{"leftOut": words}); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(a.Err, "permd: left out: %s\n", words)
		}
		a.hintUndo(done.Undo)
		return nil
	})
}
