package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
)

// manPages are the manual pages of a command and those below it, in the man(7)
// macros. The help texts are plain text with indented tables, which stay as
// they are; a generator that takes them for Markdown would run them together.
func manPages(cmd *cobra.Command) []generated {
	pages := []generated{{manName(cmd) + ".1", func(w io.Writer) error {
		_, err := w.Write(manPage(cmd))
		return err
	}}}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, manPages(sub)...)
		}
	}
	return pages
}

// manName is the page's name: permd-policy-check.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func manPage(cmd *cobra.Command) []byte {
	// The help flag is only made when a command runs.
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b bytes.Buffer
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s %s\n", manWord(strings.ToUpper(name)), manWord("permd "+buildinfo.Version()), manWord("permd"))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", manText(name), manText(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", manWord(cmd.CommandPath()))
	if _, operands, ok := strings.Cut(cmd.UseLine(), cmd.CommandPath()+" "); ok {
		fmt.Fprintf(&b, "%s\n", manText(operands))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("COMMAND\n")
	}
	long, exits := strings.CutSuffix(cmd.Long, cli.ExitCodes)
	if strings.TrimSpace(long) == "" {
		long = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	manParagraphs(&b, long)
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", manWord(manName(sub)), manText(sub.Short))
			}
		}
	}
	manFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if exits {
		b.WriteString(".SH EXIT STATUS\n")
		manParagraphs(&b, strings.TrimPrefix(cli.ExitCodes, "Exit codes: "))
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		manParagraphs(&b, cmd.Example)
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", manWord(manName(cmd.Parent())))
	}
	return b.Bytes()
}

// manParagraphs writes text: paragraphs are parted by empty lines, and what is
// indented keeps its lines.
func manParagraphs(b *bytes.Buffer, text string) {
	for i, p := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		p = strings.Trim(p, "\n")
		if p == "" {
			continue
		}
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if !strings.HasPrefix(p, " ") {
			fmt.Fprintf(b, "%s\n", manText(p))
			continue
		}
		b.WriteString(".nf\n")
		for line := range strings.Lines(p) {
			fmt.Fprintf(b, "%s\n", manText(strings.TrimRight(line, "\n")))
		}
		b.WriteString(".fi\n")
	}
}

func manFlags(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		b.WriteString(".TP\n.B ")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\-%s, ", f.Shorthand)
		}
		fmt.Fprintf(b, "\\-\\-%s", manText(f.Name))
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", manText(kind))
		}
		fmt.Fprintf(b, "\n%s\n", manText(usage))
	})
}

// manText escapes text: a dot or quote at the start of a line would be a
// request, a bare hyphen is typeset as one that cannot be copied into a shell.
func manText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(line)
		if strings.HasPrefix(line, ".") {
			line = `\&` + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// manWord is one argument of a macro.
func manWord(text string) string {
	return `"` + strings.ReplaceAll(manText(text), `"`, `\(dq`) + `"`
}
