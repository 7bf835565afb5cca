package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/decide"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/client"
)

// decideTimeout bounds the wait for each answer of the daemon, as a hook's wait is bounded.
const decideTimeout = 5 * time.Second

type decideOptions struct {
	decide.Session
	local bool
	wait  time.Duration // how long to wait for a person's answer, 0 for not at all
	// observe, if not nil, is called for each decision that this process makes.
	observe func(*decisions.Deliberation)
}

func (a *app) decideCommand() *cobra.Command {
	var o decideOptions
	cmd := &cobra.Command{
		Use:         "decide FILE|-",
		Annotations: cli.ReadsOnly,
		Short:       "Decide calls from a file",
		Long: `Decide the calls in FILE, or on standard input. The input is one JSON document
or JSON lines: ACP messages (session/request_permission, with the session/update
messages before them), permd/decide messages or their params, or bare calls.
Prints the verdict and its reason, each effect with the member that it was read
from, and the rules that matched with file and line.

By default the daemon decides; if it does not answer within five seconds, this
command ends with an error. With --local this process decides with the same
policies, without memory, and logs nothing: use it to try out policies, not to
enforce them. permd try does that for shell text.

With --wait, each call that is left to a person waits for an answer in another
terminal, by permd allow or permd deny, which is then the verdict.

The exit code is that of the strictest verdict.

` + cli.ExitCodes,
		Example: `  echo '{"tool":{"name":"Bash"},"input":{"command":"git status"}}' |
    permd decide --agent claude-agent-acp -
  permd decide --local request.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.checkWait(cmd); err != nil {
				return err
			}
			return a.decide(cmd.Context(), args[0], &o)
		},
	}
	o.flags(cmd)
	return cmd
}

func (o *decideOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.local, "local", false, "decide in this process, without the daemon")
	f.Var(cli.Duration{To: &o.wait}, "wait", "wait at most this `duration`, such as 10m, for the answer to each question")
	f.StringVar(&o.Cwd, "cwd", "", "working `directory` of sessions that the input does not declare (default: the current one)")
	f.StringVar(&o.Agent, "agent", "", "`agent` of sessions that the input does not declare, NAME or NAME@VERSION")
}

func (o *decideOptions) checkWait(cmd *cobra.Command) error {
	switch {
	case !cmd.Flags().Changed("wait"):
		return nil
	case o.local:
		return cli.Failf(cli.ExitUsage, "leave out --local", "--wait waits for the daemon")
	case o.wait < time.Second || o.wait > time.Hour:
		return cli.Failf(cli.ExitUsage, "a wait lasts from 1s to 1h", "--wait %s is out of range", o.wait)
	}
	return nil
}

func (a *app) decide(ctx context.Context, file string, o *decideOptions) error {
	messages, err := a.messages(file, o)
	if err != nil {
		return err
	}
	to, done, err := a.caller(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	return a.decideAll(ctx, to, messages, o)
}

// decideAll sends the messages in order and prints the decisions.
func (a *app) decideAll(ctx context.Context, to client.Caller, messages []decide.Message, o *decideOptions) error {
	strictest, first := decisions.Allow, true
	err := o.Each(ctx, to, messages, func(ds []*decisions.Decision) error {
		for n, d := range ds {
			switch {
			case a.JSON:
				if err := cli.PrintJSON(a.Out, d); err != nil {
					return err
				}
			case !first && n == 0:
				fmt.Fprintln(a.Out)
				fallthrough
			default:
				printDecision(a.Out, d, o.local)
			}
			first = false
		}
		for _, d := range ds {
			verdict, err := a.awaitAnswer(ctx, to, d, o.wait)
			if err != nil {
				return err
			}
			strictest = decisions.Stricter(strictest, verdict)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if code := cli.VerdictCode(strictest); code != cli.ExitOK {
		return &cli.Failure{Code: code}
	}
	return nil
}

// awaitAnswer returns the verdict of a decision or, if it is left to a person, the one that
// they give within the limit.
func (a *app) awaitAnswer(ctx context.Context, to client.Caller, d *decisions.Decision, limit time.Duration) (decisions.Verdict, error) {
	if limit == 0 || d.Verdict != decisions.Ask {
		return d.Verdict, nil
	}
	fmt.Fprintf(a.Err, "permd: waiting for an answer: permd allow %s, or permd deny %[1]s\n", d.ID)
	r, err := client.Wait(ctx, to, d.ID, limit)
	if err != nil {
		return "", fmt.Errorf("waiting for an answer: %w", err)
	}
	if a.JSON {
		return r.Verdict(), cli.PrintJSON(a.Out, givenAnswer{d.ID, r.Answer, r.DecidedBy})
	}
	if r.Decision != nil {
		fmt.Fprintf(a.Out, "%s by %s, which has changed meanwhile: %s\n", map[decisions.Verdict]string{
			decisions.Allow: "allowed", decisions.Deny: "denied", decisions.Ask: "asked",
		}[r.Verdict()], r.DecidedBy, display.Display(r.Decision.Reason))
		return r.Verdict(), nil
	}
	fmt.Fprintf(a.Out, "%s\n", map[decisions.Verdict]string{
		decisions.Allow: "allowed by a person", decisions.Deny: "denied by a person", decisions.Ask: "nobody has answered",
	}[r.Verdict()])
	return r.Verdict(), nil
}

// givenAnswer is a person's answer in the output of permd decide --wait --json.
type givenAnswer struct {
	DecisionID string `json:"decisionId"`
	Answer     string `json:"answer"` // allow, deny or none
	// DecidedBy is who has decided where no person has answered.
	DecidedBy decisions.DecidedBy `json:"decidedBy,omitzero"`
}

// caller returns what decides calls: the daemon or, with --local, this process.
func (a *app) caller(ctx context.Context, o *decideOptions) (to client.Caller, done func(), err error) {
	if o.local {
		dirs, err := a.dirs()
		if err != nil {
			return nil, nil, err
		}
		local, err := engine.Local(ctx, dirs, a.root != "", a.Err, o.observe)
		if err != nil {
			return nil, nil, err
		}
		return local, func() {}, nil
	}
	c, err := client.Connect(ctx, client.Options{Timeout: decideTimeout})
	if err != nil {
		return nil, nil, err
	}
	return c, func() { c.Close() }, nil
}

// messages reads the input and sets the working directory of its sessions.
func (a *app) messages(file string, o *decideOptions) ([]decide.Message, error) {
	data, err := decide.ReadInput(a.In, file)
	if err != nil {
		return nil, err
	}
	if o.Cwd == "" {
		if o.Cwd, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("finding the working directory: %w", err)
		}
	}
	if o.Cwd, err = filepath.Abs(o.Cwd); err != nil {
		return nil, fmt.Errorf("finding the working directory: %w", err)
	}
	messages, err := decide.Parse(data)
	if err != nil {
		return nil, cli.Failf(cli.ExitUsage, "one JSON value, or one on each line", "reading %s: %v", decide.InputName(file), err)
	}
	return messages, nil
}

// renderDecision prints a decision of the log in readable form: the verdict and its reason,
// then each effect with its source and the rules that matched.
func renderDecision(w io.Writer, d *decisions.Decision) { printDecision(w, d, false) }

// printDecision is renderDecision, also for a local decision: that is in no log, so that nothing
// could be found by its id.
func printDecision(w io.Writer, d *decisions.Decision, local bool) {
	terminal := w
	paint := func(v decisions.Verdict, text string) string { return cli.Paint(terminal, string(v), text) }
	w = cli.Folded(w, 6)
	fmt.Fprintf(w, "%s: %s\n", paint(d.Verdict, string(d.Verdict)), display.Display(d.Reason))
	if d.Message != "" {
		fmt.Fprintf(w, "  tell the agent: %s\n", display.Display(d.Message))
	}
	for _, defect := range d.Defects {
		fmt.Fprintf(w, "  ! %s: %s (%s)\n", defect.Code, defect.Text, defect.At)
	}
	width := 0
	for _, e := range d.Effects {
		width = max(width, min(cli.Cells(e.Text), 56))
	}
	for _, e := range d.Effects {
		from := e.From
		if e.Claimed {
			from += ", claimed"
		}
		if e.Declared {
			from += ", declared"
		}
		padding := strings.Repeat(" ", max(0, width-cli.Cells(e.Text)))
		fmt.Fprintf(w, "  %s %s%s  from %s\n", paint(e.Verdict, cli.Marks[e.Verdict]), e.Text, padding, from)
		// The reason of the whole call has been printed above.
		if len(e.Rules) == 0 && e.Reason != d.Reason {
			fmt.Fprintf(w, "      %s: %s\n", e.Verdict, display.Display(e.Reason))
		}
		for _, r := range e.Rules {
			title := r.Title
			if title == "" {
				title = e.Reason
			}
			fmt.Fprintf(w, "      %s: %s (%s)\n", e.Verdict, display.Display(title), r.At)
		}
		if o := e.Outdated; o != nil {
			fmt.Fprintf(w, "      choice %s does not cover it: %s\n", o.ChoiceID, display.Display(o.What)+" "+o.How.Words())
			for _, text := range [][2]string{{"was", o.Was}, {"now", o.Now}} {
				for line := range strings.Lines(text[1]) {
					fmt.Fprintf(w, "        %s: %s\n", text[0], display.Display(strings.TrimSuffix(line, "\n")))
				}
			}
		}
	}
	if d.NotRemembered != "" {
		fmt.Fprintf(w, "  not remembered: %s\n", display.Display(d.NotRemembered))
	}
	fmt.Fprintf(w, "  %sdecided by %s, policy %s\n", cli.Either(local, "", "decision "+d.ID+", "), d.By, cli.Short(d.Policy.Digest))
}
