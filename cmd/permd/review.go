package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/replay"
	"github.com/permd/permd/cmd/permd/internal/review"
	"github.com/permd/permd/cmd/permd/internal/reviewweb"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/socket/gatehttp"
)

// webOptions are the options of the pages for a browser.
type webOptions struct {
	address string
	open    bool
}

func (a *app) reviewCommand() *cobra.Command {
	var web bool
	var o webOptions
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Answer questions and review what is decided and remembered",
		Long: `Show a page in the terminal: the questions that wait for you, decisions as they
are made, what is remembered, and the rules that decide. Answer a question,
explain a decision, forget or change a choice, and take that back. The key ?
lists the keys. An answer is given to the question with the cursor, which never
moves by itself.

With --web, serve the same as pages for a browser on this machine. The link that
is printed can be opened once, by one browser. The pages end with the command,
and after 30 minutes in which no page was open.

Requires a running daemon. Agents are denied this command.

` + cli.ExitCodes,
		Example: `  permd review
  permd review --web
  permd review --web --open
  permd review --web --listen unix:review/review.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if web {
				return a.reviewWeb(cmd.Context(), o)
			}
			for _, name := range []string{"listen", "open"} {
				if cmd.Flags().Changed(name) {
					return cli.Failf(cli.ExitUsage, "permd review --web", "--%s is an option of the pages for a browser: --web is missing", name)
				}
			}
			return review.Run(cmd.Context(), &a.Streams, a.explainTo)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&web, "web", false, "serve pages for a browser")
	f.StringVar(&o.address, "listen", "127.0.0.1:0", "`address` to serve on: 127.0.0.1:PORT, [::1]:PORT or unix:PATH")
	f.BoolVar(&o.open, "open", false, "open the link in the browser")
	return cmd
}

// reviewWeb serves the pages until it is interrupted, or nobody has a page open.
func (a *app) reviewWeb(ctx context.Context, o webOptions) error {
	address := o.address
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		path, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("finding the socket: %w", err)
		}
		address = "unix:" + path
	}
	ln, err := gatehttp.Listen(address)
	if err != nil {
		return cli.Failf(cli.ExitUsage, "a loopback address such as 127.0.0.1:7400, or unix:PATH", "%v", err)
	}
	defer ln.Close()
	quiet := a.Streams // what replays print about their progress has no place in a page
	quiet.Err = io.Discard
	s, err := reviewweb.New(reviewweb.Options{
		Listener: ln, Root: a.root,
		Rules: func(ctx context.Context) ([]rules.RuleInfo, error) { return a.policies().Rules(ctx) },
		Again: func(ctx context.Context, rec *decisions.Record) (*explain.Explanation, string, error) {
			return replay.Explain(ctx, &quiet, a.root, rec)
		},
	})
	if err != nil {
		return err
	}
	if ln.Addr().Network() == "unix" {
		fmt.Fprintf(a.Out, "serving on unix:%s, for this user; behind the port that leads there, open once:\n", ln.Addr())
	}
	fmt.Fprintln(a.Out, s.Link())
	if o.open {
		if err := openBrowser(s.Link()); err != nil {
			fmt.Fprintf(a.Err, "permd: warning: no browser was opened: %v\n", err)
		}
	}
	return s.Serve(ctx)
}

// openBrowser starts the person's browser, which goes on by itself.
func openBrowser(link string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	if own := os.Getenv("BROWSER"); own != "" {
		program = own
	}
	cmd := exec.Command(program, link) //nolint:forbidigo,gosec // the person asks for it, and names the program
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	return cmd.Process.Release()
}
