package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// status is what `permd status` shows. Its JSON form is kept.
type status struct {
	PID      int             `json:"pid"`
	Version  string          `json:"version"`
	Started  time.Time       `json:"started"`
	Degraded bool            `json:"degraded"`
	Digest   string          `json:"digest"`
	Socket   string          `json:"socket"`
	Admin    string          `json:"adminSocket"`
	HTTP     string          `json:"http,omitzero"`
	Sessions int             `json:"sessions"`
	Policy   policy.Status   `json:"policy"`
	Journal  journal.Status  `json:"journal"`
	Memory   remember.Status `json:"memory"`
	Unasked  []agentUnasked  `json:"unasked,omitzero"`
	// NotPlain are the calls since the start with shell text that not every shell
	// reads alike, by what of it.
	NotPlain map[string]int64 `json:"notPlain,omitzero"`
}

func (d *daemon) status() status {
	s := status{
		PID: os.Getpid(), Version: version(), Started: d.started, Digest: d.digest(),
		Socket: d.sockets.decision, Admin: d.sockets.management, HTTP: d.sockets.http, Sessions: d.sessions.Len(),
		Policy: d.store.Status(), Journal: d.journal.Status(), Memory: d.memory.Status(),
		Unasked: d.unasked.list(), NotPlain: d.notPlain.Counts(),
	}
	s.Degraded = s.Policy.Degraded() || s.Journal.Failing != "" || s.Journal.Stalled != "" || len(s.Memory.Degraded) > 0
	return s
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "status",
		Annotations: onlyReads,
		Short:       "Show what the daemon serves and how it is",
		Long: `Show where the daemon listens, which rules it serves, and what is wrong with it.
The exit code is 0 also when it is degraded: it still answers.

` + exitCodes,
		Example: `  permd status
  permd status --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := client.Connect(cmd.Context(), client.Options{Admin: true})
			if err != nil {
				return err
			}
			defer c.Close()
			var s status
			if err := c.Call(cmd.Context(), admin.MethodStatus, struct{}{}, &s); err != nil {
				return fmt.Errorf("asking for the status: %w", err)
			}
			if a.json {
				return printIndented(a.out, s)
			}
			a.renderStatus(&s)
			return nil
		},
	}
}

func (a *app) renderStatus(s *status) {
	state := "running"
	if s.Degraded {
		state = "degraded"
	}
	fmt.Fprintf(a.out, "%s: permd %s, pid %d, since %s\n", state, s.Version, s.PID, s.Started.Local().Format("2006-01-02 15:04:05"))
	fmt.Fprintf(a.out, "  listens  %s\n", s.Socket)
	fmt.Fprintf(a.out, "  manages  %s\n", s.Admin)
	if s.HTTP != "" {
		fmt.Fprintf(a.out, "  http     %s\n", s.HTTP)
	}
	fmt.Fprintf(a.out, "  policy   %s\n", short(s.Digest))
	for i := range s.Policy.Layers {
		fmt.Fprintf(a.out, "  %s\n", layerLine(&s.Policy.Layers[i]))
	}
	if s.Policy.Settings != "" {
		fmt.Fprintf(a.out, "  settings could not be read, the former ones are in use: %s\n", s.Policy.Settings)
	}
	if s.Policy.Watching != "" {
		fmt.Fprintf(a.out, "  changes of rules are found within 20 seconds: %s\n", s.Policy.Watching)
	}
	fmt.Fprintf(a.out, "  journal  %s, %d of them since the start\n", plural(int(s.Journal.Last), "decision"), s.Journal.Records)
	if s.Journal.Failing != "" {
		fmt.Fprintf(a.out, "           cannot be written, so nothing is allowed: %s\n", s.Journal.Failing)
	}
	if s.Journal.Stalled != "" {
		fmt.Fprintf(a.out, "           decisions wait beside the database, which cannot take them: %s\n", s.Journal.Stalled)
	}
	if s.Journal.Damaged != "" {
		fmt.Fprintf(a.out, "           an earlier one was damaged and is kept at %s\n", s.Journal.Damaged)
	}
	fmt.Fprintf(a.out, "  memory   %s to allow, %s to reject\n", plural(s.Memory.Allows, "choice"), plural(s.Memory.Rejects, "choice"))
	if n := s.Memory.Unconfirmed; n > 0 {
		fmt.Fprintf(a.out, "           %d more wait until you confirm them: permd remember list\n", n)
	}
	if n := s.Memory.Changed; n > 0 {
		fmt.Fprintf(a.out, "           %s of an earlier permd to look at: permd remember list --changed\n", plural(n, "choice"))
	}
	for _, why := range s.Memory.Degraded {
		fmt.Fprintf(a.out, "           degraded: %s\n", why)
	}
	fmt.Fprintf(a.out, "  clients  %s\n", plural(s.Sessions, "session"))
	for i := range s.Unasked {
		fmt.Fprintf(a.out, "  unasked  %s\n", s.Unasked[i].String())
	}
	if len(s.Unasked) > 0 {
		fmt.Fprintln(a.out, "           permd log list --unasked shows them")
	}
}
