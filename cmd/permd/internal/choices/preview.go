package choices

import (
	"context"
	"fmt"
	"io"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
)

// Caller calls the management methods of a daemon.
type Caller interface {
	Call(ctx context.Context, method string, params, result any) error
}

// Previews counts what choices would have matched, had they been in force.
func Previews(ctx context.Context, c Caller, p admin.PreviewParams) ([]admin.Preview, error) {
	var got admin.Previews
	if err := c.Call(ctx, admin.MethodChoicesPreview, p, &got); err != nil {
		return nil, fmt.Errorf("counting what it would have matched: %w", err)
	}
	return got.Previews, nil
}

// WouldHave says the counts of a preview in a sentence; a reject matches what it would have
// denied. It is "" for what would not be remembered.
func WouldHave(p *admin.Preview) string {
	if p.Refused != "" || len(p.Choices) == 0 {
		return ""
	}
	of := "requests"
	switch scope := p.Choices[0].Scope; scope {
	case "project", "session":
		of += " of this " + scope
	case "session+children":
		of += " of this session and those below it"
	}
	if p.Requests == 0 {
		return "nothing to compare it with: the log has no " + of
	}
	words := fmt.Sprintf("would have matched %d of the last %d %s", p.Matched, p.Requests, of)
	if p.Denied > 0 {
		words += fmt.Sprintf(", %d of them denied", p.Denied)
	}
	if p.Unknown > 0 {
		words += fmt.Sprintf("; %d cannot be decided again", p.Unknown)
	}
	return words
}

// Count says the counts of a preview in a sentence, or why it would not be remembered.
func Count(p *admin.Preview) string {
	if p.Refused != "" {
		return "would be refused: " + display.Display(p.Refused)
	}
	return WouldHave(p)
}

// Commands are the commands for what the pages do not do with a choice.
func Commands(c *admin.Choice) []string {
	list := []string{"permd remember export " + c.ID}
	if c.Unconfirmed {
		list = append(list, "permd remember confirm "+c.ID)
	}
	return list
}

// RenderPreview writes what would be stored, and what it would have matched.
func RenderPreview(w io.Writer, p *admin.Preview) {
	if p.Refused != "" {
		fmt.Fprintln(cli.Folded(w, 4), Count(p))
		return
	}
	for i := range p.Choices {
		RenderChoice(w, &p.Choices[i])
	}
	fmt.Fprintf(cli.Folded(w, 4), "    %s\n", WouldHave(p))
}

// RenderChoice writes what a choice would be stored as, or that it is in force.
func RenderChoice(w io.Writer, c *admin.Choice) {
	head := "would remember"
	if c.Earlier {
		head = "already remembered, as " + c.ID
	}
	for _, part := range Parts(c) {
		words := fmt.Sprintf("%s: %s %s %s (%s", head, c.Verdict, part.Kind, cli.Clip(part.Rule, 200), Scope(c))
		if !c.Expires.IsZero() {
			words += ", until " + c.Expires.Local().Format("2006-01-02 15:04:05")
		}
		if c.BoundTo != "" {
			words += ", bound to " + display.Display(c.BoundTo)
		}
		fmt.Fprintf(cli.Folded(w, 4), "%s)\n", words)
	}
}
