package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// allPages are the manual pages of the whole program by name.
func allPages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range manPages((&app{}).command()) {
		var b bytes.Buffer
		if err := p.write(&b); err != nil {
			t.Fatal(err)
		}
		found[p.name] = b.String()
	}
	return found
}

// TestManPagesCover: each command that a person sees has a page, which names
// its options, its sub-commands and its parent.
func TestManPagesCover(t *testing.T) {
	pages := allPages(t)
	n := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		n++
		page := pages[manName(cmd)+".1"]
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
				want = append(want, `.BR "`+strings.ReplaceAll(manName(sub), "-", `\-`)+`" (1)`)
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

func TestManText(t *testing.T) {
	for in, want := range map[string]string{
		"a -b":          `a \-b`,
		".TH x":         `\&.TH x`,
		"a\n'b":         "a\n" + `\(aqb`,
		`C:\dir`:        `C:\edir`,
		"~/.config/x":   `\(ti/.config/x`,
		"text\n.hidden": "text\n" + `\&.hidden`,
	} {
		if got := manText(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestManParagraphs(t *testing.T) {
	var b bytes.Buffer
	manParagraphs(&b, "One.\nTwo.\n\n  a   b\n  c   d\n\nThree.")
	if diff := cmp.Diff("One.\nTwo.\n.PP\n.nf\n  a   b\n  c   d\n.fi\n.PP\nThree.\n", b.String()); diff != "" {
		t.Errorf("paragraphs (-want +got):\n%s", diff)
	}
}

// TestManPagesFormat: the formatter has nothing to say of the pages.
func TestManPagesFormat(t *testing.T) {
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
