package review

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/permd/permd/socket/admin"
)

// TestPreviews: a form says of each width, in each scope, what the daemon says that it would have
// matched, and works where that cannot be said.
func TestPreviews(t *testing.T) {
	t.Parallel()
	d := newDriver(filledDaemon())
	d.keys("A")
	// The fake counts a request for each letter of the line.
	d.says(t, "run frob read ./frob", "would have matched 20 of the last 100 requests of this project, 7 of them denied; 2 cannot be decided again")
	d.keys("right")
	d.says(t, "run frob *", "would have matched 10 of the last 100 requests, 4 of them denied")
	d.keys("tab", "right")
	d.says(t, "would have matched 10 of the last 100 requests of this session,")
	if d.f.previews != 2 {
		t.Errorf("%d previews of two scopes", d.f.previews)
	}
	d.keys("esc", "D")
	d.says(t, "always deny", "would have matched 20 of the last 100 requests of this project")

	d = newDriver(filledDaemon())
	d.f.refuse = map[string]error{admin.MethodChoicesPreview: errors.New("the log could not be read")}
	d.keys("A")
	d.says(t, "always allow", "what it would have matched is not known: the log could not be read")
	d.keys("enter")
	d.did(t, `questions.allow {"decisionId":"id-frob","width":"w1","via":"review"}`)
}

// TestPreviewsBounded: however fast somebody types, one request for previews is on its way, and the one
// that is shown is that of the fields as they are.
func TestPreviewsBounded(t *testing.T) {
	t.Parallel()
	f := filledDaemon()
	f.choices[1].Line = true
	d := newDriver(f)
	d.keys("3", "j")
	d.update(keyOf("c"))
	d.update(keyOf("up")) // to the line
	for range 20 {
		d.update(keyOf("x"))
	}
	d.says(t, "counting what it would have matched …")
	if len(d.queue) != 1 {
		t.Fatalf("%d requests are on their way", len(d.queue))
	}
	d.settle()
	d.says(t, "would remember: allow run make *xxxxxxxxxxxxxxxxxxxx (user", "would have matched 26 of the last 100 requests,")
	if d.f.previews != 2 {
		t.Errorf("%d previews", d.f.previews)
	}

	// While the daemon is gone nothing is asked, and what was not known is asked when it is back.
	d.f.off = true
	d.keys("x")
	d.says(t, "counting what it would have matched …", "The daemon is not reachable")
	d.f.off = false
	d.refresh()
	d.says(t, "would have matched 27 of the last 100 requests,")
}

// TestChangeLine: the line of a choice is typed, and changed.
func TestChangeLine(t *testing.T) {
	t.Parallel()
	f := filledDaemon()
	f.choices[1].Line = true
	d := newDriver(f)
	d.keys("3", "j", "c")
	d.says(t, "allow run make * (user)", "would have matched 6 of the last 100 requests,", "line: make *")
	d.keys("tab", "tab", "backspace", "backspace")
	d.says(t, "> line: make│")
	for _, k := range " tesst q" { // letters that are keys elsewhere
		d.keys(strings.ReplaceAll(string(k), " ", "space"))
	}
	d.keys("left", "left", "left", "backspace", "end", "backspace", "backspace")
	d.says(t, "> line: make test│")
	d.update(tea.PasteMsg{Content: " --all\n"})
	d.settle()
	d.says(t, "> line: make test --all│", "would remember: allow run make test --all (user", "would have matched 15 of")
	d.did(t)
	d.keys("enter")
	d.did(t, `choices.change {"choiceIds":["k2"],"dir":"/home/me","line":"make test --all"}`)
	d.says(t, "now: allow run make test --all (user)", "u takes it back")

	// Without a letter there is no line, and what was only looked at is not changed.
	d.keys("c", "up", "ctrl+u", "enter")
	d.says(t, "the line is empty", "> line:")
	d.keys("esc", "c", "up", "enter")
	d.says(t, "nothing to change")
	// The line of what depends on more is not typed.
	d.keys("k", "c")
	if strings.Contains(d.screen(), "line:") {
		t.Errorf("the page offers a line:\n%s", d.screen())
	}
	d.did(t, `choices.change {"choiceIds":["k2"],"dir":"/home/me","line":"make test --all"}`)
}
