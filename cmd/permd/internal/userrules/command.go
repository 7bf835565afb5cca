package userrules

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// Push returns permd policy push. dirs returns permd's folders.
func Push(s *cli.Streams, dirs func() (xdg.Dirs, error)) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "push [DIR]",
		Short: "Give your rules to a daemon that serves several people",
		Long: `Send the files of rules in DIR (default: your own) to a daemon that serves
several people (permd serve --system), which reads no rules in home folders.
It checks them as permd policy check does and keeps all of them or none; they
take the place of those that you gave it before. With --remove you have none.

A daemon of your own reads your rules by itself and needs no push.

` + cli.ExitCodes,
		Example: `  permd policy push
  permd policy push --remove`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if remove && len(args) > 0 {
				return cli.Failf(cli.ExitUsage, "leave one of them out", "--remove takes no folder")
			}
			p := pushParams{Files: []file{}}
			if !remove {
				var err error
				if p.Files, err = read(args, dirs); err != nil {
					return err
				}
				if err := p.check(); err != nil {
					return cli.Failf(cli.ExitUsage, "", "pushing the rules: %v", err)
				}
			}
			return push(cmd.Context(), s, &p)
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the rules that you have there")
	return cmd
}

// read returns the files of a folder that permd reads.
func read(args []string, dirs func() (xdg.Dirs, error)) ([]file, error) {
	dir := ""
	if len(args) > 0 {
		dir = args[0]
	} else {
		own, err := dirs()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(own.Config, account.PolicyDir)
	}
	tree, err := source.Read(dir, source.Access{Writable: true})
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", err)
	}
	files := []file{}
	for _, f := range tree.Files {
		files = append(files, file{Name: f.Rel, Text: string(f.Data)})
	}
	if len(files) == 0 {
		return nil, cli.Failf(cli.ExitError, "permd policy push --remove removes those that you gave it", "there are no rules in %s", dir)
	}
	return files, nil
}

func push(ctx context.Context, s *cli.Streams, p *pushParams) error {
	var done pushed
	if err := call(ctx, MethodPush, p, &done); err != nil {
		return err
	}
	if s.JSON {
		if err := cli.PrintJSON(s.Out, &done); err != nil {
			return err
		}
	} else {
		for _, problem := range done.Problems {
			fmt.Fprintf(s.Out, "%s: %s\n", cli.Paint(s.Out, string(problem.Severity), string(problem.Severity)), problem)
			if problem.Hint != "" {
				fmt.Fprintf(s.Out, "  hint: %s\n", problem.Hint)
			}
		}
		switch {
		case !done.Stored:
			fmt.Fprintln(s.Out, "not usable: the daemon keeps the rules that it had of you")
		case done.Waiting != "":
			fmt.Fprintf(s.Out, "stored, and not in force yet: %s\n", done.Waiting)
		case done.Files == 0:
			fmt.Fprintln(s.Out, "removed: the daemon has no rules of yours")
		default:
			fmt.Fprintf(s.Out, "in force: %s in %s\n", cli.Plural(done.Rules, "rule"), cli.Plural(done.Files, "file"))
		}
	}
	if !done.Stored && diag.List(done.Problems).Failed() {
		return &cli.Failure{Code: cli.ExitCompile}
	}
	return nil
}

// Pull returns permd policy pull.
func Pull(s *cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:         "pull [FILE]",
		Annotations: cli.ReadsOnly,
		Short:       "Show the rules that you gave to a daemon for several people",
		Long: `List the files of rules that you gave to a daemon that serves several people
with permd policy push, or print one of them.

` + cli.ExitCodes,
		Example: `  permd policy pull
  permd policy pull rules.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var got pulled
			if err := call(cmd.Context(), MethodPull, struct{}{}, &got); err != nil {
				return err
			}
			for _, f := range got.Files {
				switch {
				case len(args) > 0 && f.Name == args[0] && s.JSON:
					return cli.PrintJSON(s.Out, f)
				case len(args) > 0 && f.Name == args[0]:
					_, err := fmt.Fprint(s.Out, f.Text)
					return err
				case len(args) > 0:
				case s.JSON:
					if err := cli.PrintJSON(s.Out, f); err != nil {
						return err
					}
				default:
					fmt.Fprintf(s.Out, "%s (%s)\n", f.Name, cli.Plural(len(f.Text), "byte"))
				}
			}
			if len(args) > 0 {
				return cli.Failf(cli.ExitError, "permd policy pull lists them", "the daemon has no file %s of yours", args[0])
			}
			return nil
		},
	}
}

// call calls a method of a daemon that serves several people.
func call(ctx context.Context, method string, params, result any) error {
	c, err := client.Connect(ctx, client.Options{Admin: true})
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.Call(ctx, method, params, result)
	if no, ok := errors.AsType[*client.Error](err); ok && no.Code == socket.CodeMethod {
		return cli.Failf(cli.ExitUsage, "edit the files in ~/.config/permd/policy.d; permd status shows whether they are in force",
			"this daemon is your own and reads your rules by itself: nothing needs to be pushed")
	}
	if err != nil {
		return fmt.Errorf("asking the daemon: %w", err)
	}
	return nil
}
