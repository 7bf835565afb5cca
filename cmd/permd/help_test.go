package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// TestHelp walks all commands: each has complete descriptions, and its examples are
// commands that exist.
func TestHelp(t *testing.T) {
	t.Parallel()
	root := newRoot()
	walked := 0
	walk(root, func(cmd *cobra.Command) {
		walked++
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || !unicode.IsUpper(rune(cmd.Short[0])) {
				t.Errorf("the short text is %q", cmd.Short)
			}
			if !strings.HasSuffix(cmd.Long, cli.ExitCodes) || len(cmd.Long) <= len(cli.ExitCodes)+len(cmd.Short) {
				t.Errorf("the long text is %q", cmd.Long)
			}
			for line := range strings.Lines(cmd.Long + "\n" + cmd.UsageString()) {
				if n := cli.Cells(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("a line of the help takes %d columns: %s", n, line)
				}
			}
			examples := exampleCommands(t, cmd.Example)
			if len(examples) == 0 {
				t.Error("there is no example")
			}
			for _, args := range examples {
				checkExample(t, cmd, args)
			}
		})
	})
	if walked < 10 {
		t.Errorf("only %d commands", walked)
	}
}

func newRoot() *cobra.Command {
	return (&app{Streams: cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}).command()
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			walk(sub, visit)
		}
	}
}

// exampleCommands returns the words after permd of each permd command in a shell text.
func exampleCommands(t *testing.T, text string) (commands [][]string) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatalf("the example is not shell text: %v\n%s", err, text)
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var words []string
		for _, word := range call.Args {
			s, err := expand.Literal(nil, word)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, s)
		}
		if len(words) > 0 && words[0] == "permd" {
			commands = append(commands, words[1:])
		}
		return true
	})
	return commands
}

// checkExample parses an example as permd would and checks that it is a command line of
// the command or of one of its sub-commands.
func checkExample(t *testing.T, of *cobra.Command, args []string) {
	t.Helper()
	// A new command for each: parsing changes it.
	cmd, rest, err := newRoot().Find(args)
	if err != nil {
		t.Errorf("permd %q: %v", args, err)
		return
	}
	if path := cmd.CommandPath(); path != of.CommandPath() && !strings.HasPrefix(path, of.CommandPath()+" ") {
		t.Errorf("permd %q is an example of %s", args, path)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("permd %q: %v", args, err)
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("permd %q: %v", args, err)
	}
	for _, arg := range cmd.Flags().Args() {
		if strings.HasPrefix(arg, "examples/") {
			if _, err := os.Stat(filepath.Join("..", "..", arg)); err != nil {
				t.Errorf("permd %q: %v", args, err)
			}
		}
	}
}
