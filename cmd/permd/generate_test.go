package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/permd/permd/cmd/permd/internal/manpage"
)

// allPages are the manual pages of the whole program by name.
func allPages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range manpage.Pages((&app{}).command()) {
		found[p.Name] = string(p.Text)
	}
	return found
}

// pageName returns the name of a command's page.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// TestManPagesCover: each command that a person sees has a page, which names
// its options, its sub-commands and its parent.
func TestManPagesCover(t *testing.T) {
	t.Parallel()
	pages := allPages(t)
	n := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		n++
		page := pages[pageName(cmd)+".1"]
		if page == "" {
			t.Errorf("%s has no page", cmd.CommandPath())
			return
		}
		want := []string{".TH ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n"}
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			want = append(want, `\-\-`+strings.ReplaceAll(f.Name, "-", `\-`))
		})
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				want = append(want, `.BR "`+strings.ReplaceAll(pageName(sub), "-", `\-`)+`" (1)`)
				visit(sub)
			}
		}
		want = slices.DeleteFunc(want, func(w string) bool { return strings.Contains(page, w) })
		if len(want) > 0 {
			t.Errorf("%s: the page lacks %q", cmd.CommandPath(), want)
		}
	}
	visit((&app{}).command())
	if n != len(pages) {
		t.Errorf("%d pages for %d commands", len(pages), n)
	}
	if pages["permd-generate.1"] != "" {
		t.Error("a hidden command has a page")
	}
}

// TestManPagesFormat: the formatter reports no problem in the pages.
func TestManPagesFormat(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs the formatter on each page")
	}
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	for name, page := range allPages(t) {
		cmd := exec.CommandContext(t.Context(), groff, "-k", "-man", "-Tutf8", "-ww", "-z")
		cmd.Stdin = strings.NewReader(page)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
