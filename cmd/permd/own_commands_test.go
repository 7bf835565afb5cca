package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var updateCommands = flag.Bool("update-commands", false, "write the list of permd's commands")

const ownCommandsFile = "../../decisions/effects/own/own_commands.txt"

// TestOwnCommands compares the list of commands that agents are denied with the
// tree of commands: a new command or option must be on it, and counts as changing
// something unless it is marked.
func TestOwnCommands(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Written by: go test ./cmd/permd -run TestOwnCommands -update-commands\n")
	root := newRoot()
	root.InitDefaultHelpCmd()
	var all func(*cobra.Command)
	all = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		cmd.InitDefaultVersionFlag()
		effect := "changes"
		if cmd.Annotations["effect"] == "reads" || cmd.Name() == "help" {
			effect = "reads"
		}
		var options []string
		add := func(f *pflag.Flag) {
			if f.Annotations["effect"] != nil {
				return // with it, the command does not only read
			}
			value := ""
			if f.NoOptDefVal == "" {
				value = "="
			}
			options = append(options, "--"+f.Name+value)
			if f.Shorthand != "" {
				options = append(options, "-"+f.Shorthand+value)
			}
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		slices.Sort(options)
		fmt.Fprintf(&b, "%s %s %s\n", effect, cmd.CommandPath(), strings.Join(slices.Compact(options), " "))
		for _, sub := range cmd.Commands() {
			all(sub)
		}
	}
	all(root)
	if *updateCommands {
		if err := os.WriteFile(ownCommandsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := os.ReadFile(ownCommandsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(listed) != b.String() {
		t.Errorf("%s is not what the commands are; they are\n%s", ownCommandsFile, &b)
	}
	for _, line := range []string{"changes permd remember add", "changes permd serve", "changes permd hook install", "changes permd allow", "reads permd status"} {
		if !strings.Contains(b.String(), line+" ") {
			t.Errorf("not listed: %s", line)
		}
	}
}
