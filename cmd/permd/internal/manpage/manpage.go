// Package manpage generates the manual pages of permd from its help texts.
package manpage

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
)

// Page is one manual page.
type Page struct {
	Name string // file name
	Text []byte
}

// Pages returns the manual pages of a command and its sub-commands, in the man(7)
// macros. Help texts are plain text with indented tables, which are kept; a generator
// that expects Markdown would join their lines.
func Pages(cmd *cobra.Command) []Page {
	pages := []Page{{pageName(cmd) + ".1", render(cmd)}}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, Pages(sub)...)
		}
	}
	return pages
}

// pageName returns the name of a page, such as permd-policy-check.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func render(cmd *cobra.Command) []byte {
	// The help flag does not exist before a command runs.
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b bytes.Buffer
	name := pageName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s %s\n", quote(strings.ToUpper(name)), quote("permd "+buildinfo.Version()), quote("permd"))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(name), escape(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", quote(cmd.CommandPath()))
	if _, operands, ok := strings.Cut(cmd.UseLine(), cmd.CommandPath()+" "); ok {
		fmt.Fprintf(&b, "%s\n", escape(operands))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("COMMAND\n")
	}
	long, exits := strings.CutSuffix(cmd.Long, cli.ExitCodes)
	if strings.TrimSpace(long) == "" {
		long = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	writeParagraphs(&b, long)
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", quote(pageName(sub)), escape(sub.Short))
			}
		}
	}
	writeFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	writeFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if exits {
		b.WriteString(".SH EXIT STATUS\n")
		writeParagraphs(&b, strings.TrimPrefix(cli.ExitCodes, "Exit codes: "))
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		writeParagraphs(&b, cmd.Example)
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", quote(pageName(cmd.Parent())))
	}
	return b.Bytes()
}

// writeParagraphs writes text. Empty lines separate paragraphs; indented lines are kept
// as they are.
func writeParagraphs(b *bytes.Buffer, text string) {
	for i, p := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		p = strings.Trim(p, "\n")
		if p == "" {
			continue
		}
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if !strings.HasPrefix(p, " ") {
			fmt.Fprintf(b, "%s\n", escape(p))
			continue
		}
		b.WriteString(".nf\n")
		for line := range strings.Lines(p) {
			fmt.Fprintf(b, "%s\n", escape(strings.TrimRight(line, "\n")))
		}
		b.WriteString(".fi\n")
	}
}

func writeFlags(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
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
		fmt.Fprintf(b, "\\-\\-%s", escape(f.Name))
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", escape(kind))
		}
		fmt.Fprintf(b, "\n%s\n", escape(usage))
	})
}

// escape escapes text: a dot or quote at the start of a line would be a request, and a
// bare hyphen is typeset as a character that does not work when pasted into a shell.
func escape(text string) string {
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

// quote quotes an argument of a macro.
func quote(text string) string {
	return `"` + strings.ReplaceAll(escape(text), `"`, `\(dq`) + `"`
}
