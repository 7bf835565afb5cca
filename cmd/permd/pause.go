package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

func (a *app) pauseCommand() *cobra.Command {
	var n admin.NewPause
	var only []string
	cmd := &cobra.Command{
		Use:   "pause DURATION",
		Short: "Do not ask for a time",
		Long: `For a time, at most 8 hours, allow what permd would ask about by default or
because a rule of yours or of the project asks. Everything else is as ever: what
is denied or rejected, what org asks about, guarded paths such as secrets, rules
that ask with "remember": false, questions and modes of agents, requests with
defects, and permd's own commands. What permd does not understand asks too,
unless --unknown is given, and so does a program that it does not know with
words, which may be a command; shell text that is not plain asks in any case.

The pause ends after its time, with permd resume or permd lock, and when the
machine is started again. permd status shows how much is left, and the decision
log has each call that it allowed.

It begins at a terminal alone. Agents are denied this command.

` + cli.ExitCodes,
		Example: `  permd pause 20m
  permd pause 1h --project . --only edits,tests --why "renaming a package"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var limit time.Duration
			if err := (cli.Duration{To: &limit}).Set(args[0]); err != nil {
				return cli.Failf(cli.ExitUsage, "such as 20m or 2h", "%q is no duration", args[0])
			}
			n.Seconds = int64(limit / time.Second)
			if n.Dir != "" {
				dir, err := filepath.Abs(n.Dir)
				if err != nil {
					return fmt.Errorf("finding the folder: %w", err)
				}
				if info, err := os.Stat(dir); err != nil || !info.IsDir() {
					return cli.Failf(cli.ExitError, "name a folder in the project", "there is no folder %s", n.Dir)
				}
				n.Dir = dir
			}
			// What is empty by mistake must not pause more than was meant.
			if cmd.Flags().Changed("project") && n.Dir == "" || cmd.Flags().Changed("only") && len(only) == 0 {
				return cli.Failf(cli.ExitUsage, "leave them out to pause everything", "--project and --only need a value")
			}
			for _, name := range only {
				if !slices.Contains(decisions.Activities, decisions.Activity(name)) {
					return cli.Failf(cli.ExitUsage, "one of: "+activityNames(decisions.Activities), "there is no kind of work called %q", name)
				}
				n.Only = append(n.Only, decisions.Activity(name))
			}
			if !a.AtTerminal() {
				return cli.Failf(cli.ExitError, "run it yourself in a terminal", "a pause begins at a terminal alone")
			}
			return a.pause(cmd.Context(), n)
		},
	}
	f := cmd.Flags()
	f.StringVar(&n.Dir, "project", "", "only for calls in the project of this `directory`")
	f.StringSliceVar(&only, "only", nil, "only for these `kinds` of work: edits (of files of the project), tests")
	f.BoolVar(&n.Unknown, "unknown", false, "also for what permd does not understand")
	f.StringVar(&n.Why, "why", "", "write this `text` into the decision log")
	return cmd
}

func activityNames(list []decisions.Activity) string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = string(a)
	}
	return strings.Join(names, ", ")
}

// pause begins a pause.
func (a *app) pause(ctx context.Context, n admin.NewPause) error {
	return withMemory(ctx, func(m *memoryClient) error {
		var p admin.Pause
		if err := m.c.Call(ctx, admin.MethodPause, n, &p); err != nil {
			return fmt.Errorf("pausing: %w", err)
		}
		if a.JSON {
			return cli.PrintJSON(a.Out, p)
		}
		fmt.Fprintln(a.Out, pauseLine(&p))
		fmt.Fprintf(a.Err, "permd: hint: to end it before: permd resume\n")
		return nil
	})
}

func (a *app) lockCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Ask about everything",
		Long: `Ask about each call that would be allowed, by rules, by memory or because permd
was paused, until permd unlock. What is denied stays denied. A pause ends,
and so does what you allowed once and no call has used.

A lock outlives the daemon and the machine. Agents are denied this command.

` + cli.ExitCodes,
		Example: `  permd lock
  permd lock --why "something odd is going on"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.lock(cmd.Context(), why)
		},
	}
	cmd.Flags().StringVar(&why, "why", "", "write this `text` into the decision log")
	return cmd
}

// lock has everything ask.
func (a *app) lock(ctx context.Context, why string) error {
	return withMemory(ctx, func(m *memoryClient) error {
		var p admin.Pause
		if err := m.c.Call(ctx, admin.MethodLock, map[string]string{"why": why}, &p); err != nil {
			return fmt.Errorf("locking: %w", err)
		}
		if a.JSON {
			return cli.PrintJSON(a.Out, p)
		}
		fmt.Fprintln(a.Out, pauseLine(&p))
		if p.Unstored != "" {
			fmt.Fprintf(a.Err, "permd: warning: the lock ends with the daemon, or is not in its log: %s\n", p.Unstored)
		}
		if p.NotLogged {
			fmt.Fprintln(a.Err, "permd: warning: what you allowed once is taken back, but still allowed in the decision log, which could not be written")
		}
		return nil
	})
}

func (a *app) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "End a pause",
		Long: `End the pause that permd pause began: permd asks again.

` + cli.ExitCodes,
		Example: `  permd resume`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.end(cmd.Context(), admin.MethodResume, "permd asks again", "permd is not paused")
		},
	}
}

func (a *app) unlockCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unlock",
		Short: "End a lock",
		Long: `End the lock that permd lock began: rules and memory decide again. Also end one
that permd has made because the file that says whether it is locked was damaged;
the file is kept, with .damaged after its name.

It is unlocked at a terminal alone. Agents are denied this command.

` + cli.ExitCodes,
		Example: `  permd unlock`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !a.AtTerminal() {
				return cli.Failf(cli.ExitError, "run it yourself in a terminal", "permd is unlocked at a terminal alone")
			}
			return a.end(cmd.Context(), admin.MethodUnlock, "rules and memory decide again", "permd is not locked")
		},
	}
}

// end ends a pause or a lock.
func (a *app) end(ctx context.Context, method, done, nothing string) error {
	return withMemory(ctx, func(m *memoryClient) error {
		var e admin.Ended
		if err := m.c.Call(ctx, method, struct{}{}, &e); err != nil {
			return err
		}
		if a.JSON {
			return cli.PrintJSON(a.Out, e)
		}
		fmt.Fprintln(a.Out, cli.Either(e.Ended, done, nothing))
		if e.Unstored != "" {
			fmt.Fprintf(a.Err, "permd: warning: this may not outlive the daemon, or is not in its log: %s\n", e.Unstored)
		}
		return nil
	})
}

// pauseLine describes a pause or lock.
func pauseLine(p *admin.Pause) string {
	text := "locked since " + p.Since.Local().Format(time.DateTime) + ", so everything asks: permd unlock"
	if !p.Locked {
		text = fmt.Sprintf("paused until %s, %s left", p.Until.Local().Format(time.TimeOnly), time.Duration(p.Seconds)*time.Second)
		if p.Project != "" {
			text += ", in " + p.Project
		}
		if p.Only != nil {
			text += ", only " + activityNames(p.Only)
		}
		text += cli.Either(p.Unknown, ", also what is not understood", "")
	}
	if p.Why != "" {
		text += " (" + p.Why + ")"
	}
	return text
}

// renderPauses prints what people have set for all of their calls.
func renderPauses(w io.Writer, s *daemon.Status) {
	for i := range s.Pauses {
		fmt.Fprintf(w, "  %-8s %s\n", cli.Either(s.Pauses[i].Locked, "lock", "pause"), pauseLine(&s.Pauses[i]))
	}
	if s.Locked != "" {
		fmt.Fprintf(w, "  lock     everything asks until permd unlock: %s\n", s.Locked)
	}
}
