package cli

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[2Jb":    `a\u{1b}[2Jb`,
		"a\nb\tc é":    "a\nb\tc é",
		"a\rb\u202ec":  `a\u{d}b\u{202e}c`,
		"a\xffb\u200b": `a\x{ff}b\u{200b}`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestExclusive: two of the flags are a wrong usage, and the command does not run.
func TestExclusive(t *testing.T) {
	for _, tt := range []struct {
		args  []string
		wrong bool
	}{{nil, false}, {[]string{"--a"}, false}, {[]string{"--a", "--b"}, true}} {
		ran := false
		cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { ran = true; return nil }}
		cmd.Flags().Bool("a", false, "")
		cmd.Flags().Bool("b", false, "")
		Exclusive(cmd, "a", "b")
		cmd.SetArgs(append([]string{}, tt.args...))
		err := cmd.Execute()
		f, ok := errors.AsType[*Failure](err)
		if ok != tt.wrong || ran == tt.wrong || ok && (f.Code != ExitUsage || f.Hint == "") {
			t.Errorf("%q: %v, ran: %v", tt.args, err, ran)
		}
	}
}
