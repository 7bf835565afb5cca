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
	"github.com/permd/permd/internal/xdg"
)

// findingState is how bad a finding is.
type findingState string

const (
	findOK    findingState = "ok"
	findWarn  findingState = "warn"
	findError findingState = "error"
)

// finding is one thing that the doctor has looked at. Its JSON form is kept.
type finding struct {
	Check string       `json:"check"`
	State findingState `json:"state"`
	Text  string       `json:"text"`
	Fix   string       `json:"fix,omitzero"` // a command, or words where no command mends it
}

// examination collects findings.
type examination struct {
	app      *app
	dirs     xdg.Dirs
	uid      uint32
	findings []finding
}

func (x *examination) ok(check, format string, args ...any) {
	x.findings = append(x.findings, finding{check, findOK, fmt.Sprintf(format, args...), ""})
}

func (x *examination) warn(check, fix, format string, args ...any) {
	x.findings = append(x.findings, finding{check, findWarn, fmt.Sprintf(format, args...), fix})
}

func (x *examination) error(check, fix, format string, args ...any) {
	x.findings = append(x.findings, finding{check, findError, fmt.Sprintf(format, args...), fix})
}

// count is the number of findings that are so bad.
func (x *examination) count(state findingState) (n int) {
	for _, f := range x.findings {
		if f.State == state {
			n++
		}
	}
	return n
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
				if err := cli.PrintIndented(a.Out, map[string]any{"version": buildinfo.Version(), "findings": x.findings}); err != nil {
					return err
				}
			} else {
				x.render()
			}
			if x.count(findError) > 0 {
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
	x.hooks()
	x.acpClients()
	x.clients()
}

func (x *examination) render() {
	w := x.app.Out
	for _, f := range x.findings {
		fmt.Fprintf(w, "%-5s  %-9s  %s\n", f.State, f.Check, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(w, "%-18sfix: %s\n", "", f.Fix)
		}
	}
	fmt.Fprintf(w, "\n%s, %s\n", cli.Plural(x.count(findError), "error"), cli.Plural(x.count(findWarn), "warning"))
}
