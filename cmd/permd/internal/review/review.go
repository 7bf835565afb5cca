// Package review is a page in a terminal on which a person sees the questions that wait,
// decisions as they are made, remembered choices and the rules that decide, answers, and takes
// back. It calls the management methods that the commands call, and decides nothing.
//
// Model is the page without a terminal and without a daemon: a value that messages change.
package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/client"
)

// Explain writes why a decision was made, asking the daemon.
type Explain = func(ctx context.Context, c *client.Client, decisionID string, w io.Writer) error

// Run shows the page until the person leaves it.
func Run(ctx context.Context, s *cli.Streams, explain Explain) error {
	const instead = "permd allow lists the questions and answers them, permd log list the decisions, permd remember list the choices"
	// COLUMNS may say how wide a pipe is, so that both are looked at alike.
	out, isFile := s.Out.(*os.File)
	if !isFile || !s.AtTerminal() || !(&cli.Streams{In: out}).AtTerminal() || s.JSON {
		return cli.Failf(cli.ExitUsage, instead, "permd review needs a terminal")
	}
	if os.Getenv("TERM") == "dumb" {
		return cli.Failf(cli.ExitUsage, instead, "permd review needs a terminal that can place text, and TERM is dumb")
	}
	d := &connection{ctx: ctx, explain: explain}
	defer d.end()
	// What is wrong at the start is said as by every other command.
	if _, err := d.connect(); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current folder: %w", err)
	}
	p := tea.NewProgram(newModel(d, dir), tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(out), tea.WithoutSignalHandler())
	_, err = p.Run()
	if err == nil || ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return fmt.Errorf("showing the page: %w", err)
}
