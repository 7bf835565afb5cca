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

// Options are what the page needs of the command.
type Options struct {
	// Dial connects to the daemon. The page dials again when a connection has broken.
	Dial func(ctx context.Context) (c client.Caller, end func(), err error)
	// Explain writes why a decision was made.
	Explain func(ctx context.Context, c client.Caller, decisionID string, w io.Writer) error
}

// Run shows the page until the person leaves it.
func Run(ctx context.Context, s *cli.Streams, o Options) error {
	in, isFile := s.In.(*os.File)
	if !isFile || !s.AtTerminal() || cli.Width(s.Out) == 0 || s.JSON {
		return cli.Failf(cli.ExitUsage, "permd allow lists the questions and answers them, permd log list the decisions, permd remember list the choices",
			"permd review needs a terminal")
	}
	if os.Getenv("TERM") == "dumb" {
		return cli.Failf(cli.ExitUsage, "permd allow lists the questions and answers them, permd log list the decisions, permd remember list the choices",
			"permd review needs a terminal that can place text, and TERM is dumb")
	}
	d := &daemon{ctx: ctx, Options: o}
	defer d.end()
	// What is wrong at the start is said as by every other command.
	if _, err := d.connect(); err != nil {
		return err
	}
	p := tea.NewProgram(New(d), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(s.Out), tea.WithoutSignalHandler())
	_, err := p.Run()
	if err == nil || ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return fmt.Errorf("showing the page: %w", err)
}
