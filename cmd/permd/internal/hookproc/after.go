package hookproc

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/hook"
)

// afterDeadline bounds the run time of a hook after a tool. Nothing waits for its answer
// but the harness itself.
const afterDeadline = 2 * time.Second

// After tells the daemon what a harness says after a tool, and returns the exit code. It
// asks nothing, and it fails silently: the tool has run already, and the report is worth
// less than the harness's time.
func After(ctx context.Context, h *hook.Harness, o Options, in io.Reader, out, errw io.Writer) int {
	if err := after(ctx, h, o, in); errors.Is(err, errMustAnswer) {
		return write(h.Failed(nil, err.Error()), out, errw)
	}
	return write(h.AfterDone(), out, errw)
}

// errMustAnswer means that the harness waits for a decision.
var errMustAnswer = errors.New("permd hook was told that the tool has run, at an event before it; its command line is wrong")

func after(ctx context.Context, h *hook.Harness, o Options, stdin io.Reader) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("permd hook broke")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, afterDeadline)
	defer cancel()
	in, err := readHook(ctx, stdin)
	if err != nil {
		return err
	}
	f, must, err := h.ReadAfter(in)
	switch {
	case must:
		return errMustAnswer
	case err != nil:
		return err
	}
	c, err := client.Connect(ctx, client.Options{Timeout: afterDeadline, Machine: o.System})
	if err != nil {
		return err
	}
	defer c.Close()
	report := client.Finished{SessionID: f.Session, Harness: h.Name, Parent: f.Parent, TurnEnded: f.TurnEnded}
	if f.Call != nil {
		report.Call = &client.FinishedCall{ID: f.Call.ID, Tool: f.Call.Name, Server: f.Call.Server, Input: f.Call.Input}
	}
	_, err = client.ReportFinished(ctx, c, &report)
	return err
}
