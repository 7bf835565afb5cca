package hookproc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/permd/permd/socket/hook"
)

// Prompt serves Claude Code's permission-prompt tool until its input ends. Calls that wait for a
// person hold up no others.
func Prompt(ctx context.Context, o Options, version string, in io.Reader, out io.Writer) error {
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	p := &hook.Prompt{
		Session: fmt.Sprintf("prompt-%d-%d", os.Getpid(), time.Now().UnixNano()), Cwd: cwd, Version: version,
	}
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel() // nobody reads the answers any more
	to := &promptWriter{to: out}
	// Claude Code asks this tool instead of a person.
	w := &waiter{Harness: hook.ByName("claude"), Options: o, Unattended: true}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), hook.MaxInput)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if o.Wait != 0 {
			line = bytes.Clone(line) // the next one is read meanwhile
		}
		switch answer, call := p.Line(line); {
		case call == nil:
			err = to.write(answer)
		case o.Wait == 0:
			err = to.write(w.answerPrompt(ctx, call))
		default:
			calls.Go(func() {
				// If it fails, the next answer of this goroutine does so as well.
				_ = to.write(w.answerPrompt(ctx, call))
			})
		}
		if err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading what the harness wrote: %w", err)
	}
	return nil
}

// promptWriter writes whole answers.
type promptWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *promptWriter) write(answer []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.to.Write(answer); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func (w *waiter) answerPrompt(ctx context.Context, call *hook.PromptCall) (answer []byte) {
	defer func() {
		if r := recover(); r != nil {
			answer = call.Failed("permd hook broke: " + fmt.Sprint(r))
		}
	}()
	d, err := w.Decide(ctx, call.Request, time.Now())
	if err != nil {
		return call.Failed(noDecision(err))
	}
	return call.Answer(d)
}
