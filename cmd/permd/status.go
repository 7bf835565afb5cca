package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/decisionlog"
	"github.com/permd/permd/decisions/journal/names"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "status",
		Annotations: cli.ReadsOnly,
		Short:       "Show the daemon's status",
		Long: `Show where the daemon listens, which rules are in force, the state of its
journal and memory, and any problems. The exit code is 0 even if the daemon is
degraded, since it still answers.

` + cli.ExitCodes,
		Example: `  permd status
  permd status --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.status(cmd.Context())
		},
	}
}

// status prints the daemon's status.
func (a *app) status(ctx context.Context) error {
	c, err := client.Connect(ctx, client.Options{Admin: true, Timeout: decideTimeout})
	if err != nil {
		return err
	}
	defer c.Close()
	var s daemon.Status
	if err := c.Call(ctx, admin.MethodStatus, struct{}{}, &s); err != nil {
		return fmt.Errorf("asking for the status: %w", err)
	}
	if a.JSON {
		return cli.PrintJSON(a.Out, s)
	}
	a.renderStatus(&s)
	return nil
}

func (a *app) renderStatus(s *daemon.Status) {
	out := cli.Folded(a.Out, 11)
	state := "running"
	if s.Degraded {
		state = "degraded"
	}
	fmt.Fprintf(out, "%s: permd %s, pid %d, since %s\n", state, s.Version, s.PID, s.Started.Local().Format("2006-01-02 15:04:05"))
	fmt.Fprintf(out, "  listens  %s\n", s.Socket)
	fmt.Fprintf(out, "  manages  %s\n", s.Admin)
	if s.HTTP != "" {
		fmt.Fprintf(out, "  http     %s\n", s.HTTP)
	}
	renderPauses(out, s)
	fmt.Fprintf(out, "  policy   %s\n", cli.Short(s.Digest))
	for i := range s.Policy.Layers {
		fmt.Fprintf(out, "  %s\n", daemon.LayerLine(&s.Policy.Layers[i]))
	}
	if s.Bundle != nil {
		fmt.Fprintf(out, "  bundle   %s\n", strings.Join(s.Bundle.Lines(), "\n           "))
	}
	for i, line := range s.Control.Lines() {
		fmt.Fprintf(out, "  %s%s\n", []string{"control  ", "         "}[min(i, 1)], line)
	}
	for _, line := range s.Policy.Restrictions {
		fmt.Fprintf(out, "  forbids  %s\n", line)
	}
	if s.Shadow != nil {
		fmt.Fprintf(out, "  shadow   %s\n", s.Shadow.Line())
	}
	for i, line := range daemon.WaitingLines(s.Policy.Waiting) {
		fmt.Fprintf(out, "  %s%s\n", []string{"waiting  ", "         "}[min(i, 1)], line)
	}
	if s.Policy.Settings != "" {
		fmt.Fprintf(out, "  settings could not be read, the former ones are in use: %s\n", s.Policy.Settings)
	}
	if s.Policy.Watching != "" {
		fmt.Fprintf(out, "  changes of rules are found within 20 seconds: %s\n", s.Policy.Watching)
	}
	fmt.Fprintf(out, "  journal  %s, %d of them since the start\n", cli.Plural(int(s.Journal.Last-s.Journal.Retention.Removed), "decision"), s.Journal.Records)
	if h := &s.Journal.Head; h.Hash != "" {
		fmt.Fprintf(out, "           head %s at decision %d; permd log verify compares it\n", h.Hash, h.Seq)
	}
	fmt.Fprintf(out, "           %s\n", s.Verified.Line())
	for i := range s.Lost {
		fmt.Fprintf(out, "           %s\n", daemon.LostLine(&s.Lost[i]))
	}
	for _, line := range daemon.RetentionLines(&s.Journal.Retention) {
		fmt.Fprintf(out, "           %s\n", line)
	}
	for _, line := range daemon.LogShareLines(s.LogShare, s.LogSharesUsedUp) {
		fmt.Fprintf(out, "           %s\n", line)
	}
	for _, line := range decisionlog.Lines(s.Sent, time.Now()) {
		fmt.Fprintf(out, "           %s\n", line)
	}
	if s.Journal.Failing != "" {
		fmt.Fprintf(out, "           cannot be written, so nothing is allowed: %s\n", s.Journal.Failing)
	}
	if s.Journal.Stalled != "" {
		fmt.Fprintf(out, "           decisions wait beside the database, which cannot take them: %s\n", s.Journal.Stalled)
	}
	if n := s.Journal.Unnamed; n > 16*names.Size { // what has just come is indexed in a moment
		fmt.Fprintf(out, "           %d decisions are not in the index of names yet: lists by path, host and project take longer\n", n)
	}
	if s.Arguments.Off {
		fmt.Fprintln(out, "           no arguments of past calls are kept (no_arguments)")
	}
	if s.Arguments.Failing != "" {
		fmt.Fprintf(out, "           arguments kept earlier cannot be deleted: %s\n", s.Arguments.Failing)
	}
	if s.Journal.Damaged != "" {
		fmt.Fprintf(out, "           an earlier one was damaged and is kept at %s\n", s.Journal.Damaged)
	}
	fmt.Fprintf(out, "  memory   %s to allow, %s to reject\n", cli.Plural(s.Memory.Allows, "choice"), cli.Plural(s.Memory.Rejects, "choice"))
	if n := s.Memory.Unconfirmed; n > 0 {
		fmt.Fprintf(out, "           %d more wait until you confirm them: permd remember list\n", n)
	}
	if n := s.Memory.Changed; n > 0 {
		fmt.Fprintf(out, "           %s of an earlier permd to look at: permd remember list --changed\n", cli.Plural(n, "choice"))
	}
	for _, why := range s.Memory.Degraded {
		fmt.Fprintf(out, "           degraded: %s\n", why)
	}
	if s.Notify != nil {
		fmt.Fprintf(out, "  notify   %s\n", s.Notify.Line())
	}
	for _, stuck := range s.Unanswered {
		fmt.Fprintf(out, "  files    %s\n", daemon.UnansweredLine(stuck, time.Now()))
	}
	for _, stuck := range s.Stuck {
		fmt.Fprintf(out, "  stuck    %s\n", daemon.StuckLine(stuck, time.Now()))
	}
	for _, p := range s.Sockets {
		fmt.Fprintf(out, "  sockets  %s\n", p.Problem)
		if p.Hint != "" {
			fmt.Fprintf(out, "           %s\n", p.Hint)
		}
	}
	if s.SelfCheck != "" {
		fmt.Fprintf(out, "  check    failed: %s\n", s.SelfCheck)
	}
	fmt.Fprintf(out, "  clients  %s\n", cli.Plural(s.Sessions, "session"))
	for i := range s.Unasked {
		fmt.Fprintf(out, "  unasked  %s\n", s.Unasked[i].String())
	}
	if len(s.Unasked) > 0 {
		fmt.Fprintln(out, "           permd log list --unasked shows them")
	}
}
