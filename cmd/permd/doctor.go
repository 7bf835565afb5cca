package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/findings"
	"github.com/permd/permd/cmd/permd/internal/setup"
	"github.com/permd/permd/internal/xdg"
)

// examination collects findings.
type examination struct {
	findings.List
	app  *app
	dirs xdg.Dirs
	uid  uint32
}

// doctorPatience is how long the daemon may take to answer, and how long one
// database is checked.
const doctorPatience = 10 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "doctor",
		Annotations: onlyReads,
		Short:       "Look for what is not as it should be",
		Long: `Look at permd's folders, settings, rules, databases, sockets, daemon and units,
at the hooks of harnesses and the ACP clients that ask permd, and for agents and
editors that are installed. Each finding comes with the command that mends it.
Nothing is changed; where systemd holds the sockets, the daemon is started by being
asked.

The exit code is 1 if there is an error, 0 with warnings alone.

` + cli.ExitCodes,
		Example: `  permd doctor
  permd doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := a.dirs()
			if err != nil {
				return err
			}
			x := &examination{app: a, dirs: dirs, uid: uint32(os.Geteuid())}
			x.examine(cmd.Context())
			if a.JSON {
				if err := cli.PrintIndented(a.Out, map[string]any{"version": buildinfo.Version(), "findings": x.All}); err != nil {
					return err
				}
			} else {
				x.render()
			}
			if x.Count(findings.Error) > 0 {
				return &cli.Failure{Code: cli.ExitError}
			}
			return nil
		},
	}
}

// examine looks at everything, in the order in which one thing needs another.
func (x *examination) examine(ctx context.Context) {
	x.environment()
	x.folders()
	if x.settings() {
		x.rules(ctx)
	}
	if runtime.GOOS == "linux" {
		x.units()
	}
	x.daemon(ctx) // before the databases, which it makes when it starts
	x.databases(ctx)
	setup.InspectHooks(x.app.root, &x.List)
	setup.InspectACP(&x.List)
	x.clients()
}

func (x *examination) render() {
	w := x.app.Out
	for _, f := range x.All {
		fmt.Fprintf(w, "%-5s  %-9s  %s\n", f.State, f.Check, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(w, "%-18sfix: %s\n", "", f.Fix)
		}
	}
	fmt.Fprintf(w, "\n%s, %s\n", cli.Plural(x.Count(findings.Error), "error"), cli.Plural(x.Count(findings.Warn), "warning"))
}
