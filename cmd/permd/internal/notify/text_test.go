package notify

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/policy/settings"
)

// hostile are texts that a client may send.
var hostile = []string{
	"<b>bold</b><img src=\"file:///etc/passwd\" alt=\"x\"/>", "<a href=\"http://x.example\">yes</a>", "&amp;&lt;", "]]>", "\x1b[2J\x1b]0;title\a", "a\u202eb\u2066c", "zero\u200bwidth\ufeff", "two\nlines\rand\tmore",
	"permd allow ID", "\x00", "\xff\xfe", strings.Repeat("x", 10_000), strings.Repeat("<", 10_000), strings.Repeat("\u202e", 10_000), "%s%n", "",
}

// TestText: no text of a client is markup, controls a terminal, turns a line around, ends one or
// makes a notification long, and what permd says comes first.
func TestText(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		for _, form := range []string{settings.NotifyFull, settings.NotifyBrief} {
			for _, n := range []int{1, 2, 300} {
				for _, markup := range []bool{false, true} {
					q := Question{ID: "01a1", Agent: text, Tool: text, Arguments: text, Reason: text}
					for range 300 {
						q.Effects = append(q.Effects, text)
					}
					list := make([]Question, n)
					for i := range list {
						list[i] = q
					}
					checkText(t, list, form, markup)
				}
			}
		}
	}
}

func checkText(t *testing.T, list []Question, form string, markup bool) {
	t.Helper()
	summary, body := render(list, form, markup)
	if want := "permd review"; !strings.HasPrefix(body, "Answer with: ") || !strings.Contains(strings.SplitN(body, "\n", 2)[0], want) {
		t.Errorf("the body begins with %.80q", body)
	}
	if want := fmt.Sprintf("%d calls wait for your answer", len(list)); len(list) > 1 && summary != want {
		t.Errorf("the summary is %q", summary)
	}
	plain := body
	if markup {
		var is struct {
			Text  string     `xml:",chardata"`
			Elems []struct{} `xml:",any"`
		}
		if err := xml.Unmarshal([]byte("<body>"+body+"</body>"), &is); err != nil || len(is.Elems) > 0 {
			t.Errorf("as markup it is %+v, %v: %.200q", is.Elems, err, body)
		}
		plain = is.Text
	} else if _, same := render(list, form, true); strings.ContainsAny(body, "<>&") == (same == body) {
		t.Errorf("without markup it is %.200q", body)
	}
	lines := strings.Split(plain, "\n")
	if len(lines) > maxLines+5 || utf8.RuneCountInString(plain) > (maxLines+5)*maxLine {
		t.Errorf("%d lines of %d characters", len(lines), utf8.RuneCountInString(plain))
	}
	for _, line := range lines {
		if !display.Printable(line) || !utf8.ValidString(line) {
			t.Errorf("a line is %.200q", line)
		}
	}
	if form == settings.NotifyBrief && strings.Contains(plain, "arguments") {
		t.Errorf("brief is %.200q", plain)
	}
}

// TestTextForms: what is shown of one call, of several, and of the same briefly.
func TestTextForms(t *testing.T) {
	t.Parallel()
	q := Question{ID: "01a1", Agent: "claude-code", Tool: "Bash", Effects: []string{"run git push", "connect github.com"}, Arguments: `{"a":1}`, Reason: "pushes"}
	for _, tt := range []struct {
		list []Question
		form string
		want string
	}{
		{[]Question{q}, settings.NotifyFull, `A call waits for your answer
Answer with: permd allow 01a1, or permd review
claude-code wants to use Bash
run git push
connect github.com
arguments: {"a":1}
pushes`},
		{[]Question{q}, settings.NotifyBrief, `A call waits for your answer
Answer with: permd allow 01a1, or permd review
claude-code wants to use Bash`},
		{[]Question{q, q}, settings.NotifyFull, `2 calls wait for your answer
Answer with: permd review
claude-code wants to use Bash: run git push
claude-code wants to use Bash: run git push`},
		{[]Question{q, q}, settings.NotifyBrief, `2 calls wait for your answer
Answer with: permd review
claude-code wants to use Bash
claude-code wants to use Bash`},
	} {
		summary, body := render(tt.list, tt.form, true)
		if got := summary + "\n" + body; got != tt.want {
			t.Errorf("%d, %s:\n%s\nwant\n%s", len(tt.list), tt.form, got, tt.want)
		}
	}
}
