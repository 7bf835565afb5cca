package manpage

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManText(t *testing.T) {
	for in, want := range map[string]string{
		"a -b":          `a \-b`,
		".TH x":         `\&.TH x`,
		"a\n'b":         "a\n" + `\(aqb`,
		`C:\dir`:        `C:\edir`,
		"~/.config/x":   `\(ti/.config/x`,
		"text\n.hidden": "text\n" + `\&.hidden`,
	} {
		if got := escape(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestManParagraphs(t *testing.T) {
	var b bytes.Buffer
	writeParagraphs(&b, "One.\nTwo.\n\n  a   b\n  c   d\n\nThree.")
	if diff := cmp.Diff("One.\nTwo.\n.PP\n.nf\n  a   b\n  c   d\n.fi\n.PP\nThree.\n", b.String()); diff != "" {
		t.Errorf("paragraphs (-want +got):\n%s", diff)
	}
}
