package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/admin"
)

// allKeys are keys that do something, and some that do nothing.
var allKeys = []string{
	"a", "A", "d", "D", "e", "enter", "x", "c", "u", "y", "n", "r", "q", "/", "?", "esc", "tab", "1", "2", "3", "4", "j", "k", "g", "G", "J", "K", "space",
	"up", "down", "left", "right", "pgup", "pgdown", "home", "end", "backspace", "h", "l", "ctrl+c", "z", "ü", "漢",
}

// nasty are texts that a daemon would never send, or could.
var nasty = []string{
	"plain", "", hostile, "\xff\xfe", strings.Repeat("漢", 300), strings.Repeat("👩‍👩‍👧", 50), "a\nb\nalways w1: everything", "\x1b[31mred\x1b[0m", strings.Repeat("x", 3000), "e\u0301\u0301\u0301", "\u202e\u2066\u200b",
}

// whole checks that a screen is one: as many lines as it has, none wider than it is, and nothing on them
// but text and styles.
func whole(t *rapid.T, d *driver) {
	lines := strings.Split(d.m.View().Content, "\n")
	if len(lines) != d.m.height {
		t.Fatalf("%d lines on a screen of %d", len(lines), d.m.height)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > d.m.width {
			t.Fatalf("%d columns on a screen of %d: %q", w, d.m.width, line)
		}
		if text := style.ReplaceAllString(line, ""); !display.Printable(text) {
			t.Fatalf("not text: %q", text)
		}
	}
}

var style = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// cursorOn is what the screen shows at the cursor, in the list of questions; "" elsewhere.
var cursorOn = regexp.MustCompile(`(?m)^> (\S+) +run (q[0-9]+v[0-9]+)\b`)

// looked is what a person has before them, read from the screen.
type looked struct {
	name  string
	since time.Time
}

func (l *looked) look(d *driver) {
	name := ""
	screen := d.screen()
	if strings.HasPrefix(screen, "[1 ") {
		if at := cursorOn.FindStringSubmatch(screen); at != nil && at[1] != "-" {
			name = at[2]
		}
	}
	if name != l.name {
		*l = looked{name, d.f.now}
	}
}

// TestGenerated: whatever is typed and whatever the daemon does, the page is whole, and an answer is only
// sent for the question that the screen has shown for 300 ms at the cursor when the key was typed.
func TestGenerated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := filledDaemon()
		f.questions = nil
		d := newDriver(f)
		made := 0
		answered := map[string]int{} // how often keys have answered a question
		named := func(version int) admin.Question {
			q := questionOf(fmt.Sprintf("q%dv%d", made, version), time.Hour)
			q.DecisionID = fmt.Sprintf("id-%d", made)
			return q
		}
		var now, chosen looked // the latter is what a form or a yes is about
		small := rapid.Bool().Draw(t, "small")
		size := func() {
			w, h := rapid.IntRange(24, 120).Draw(t, "width"), rapid.IntRange(6, 40).Draw(t, "height")
			if small {
				w, h = rapid.IntRange(1, 24).Draw(t, "width"), rapid.IntRange(1, 8).Draw(t, "height")
			}
			d.resize(w, h)
		}
		size()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			sending, open := d.sending(), d.m.form != nil || d.m.confirm != nil
			key := ""
			before := now
			switch rapid.SampledFrom([]string{"key", "key", "key", "key", "answer", "answer", "answer", "time", "tick", "tick", "new", "new", "gone", "decided", "decided", "resize", "off", "record", "nasty"}).Draw(t, "what") {
			case "key":
				key = rapid.SampledFrom(allKeys).Draw(t, "key")
				if rapid.Bool().Draw(t, "answers") {
					key = rapid.SampledFrom([]string{"a", "A", "d", "D", "enter", "y", "j"}).Draw(t, "answer")
				}
				if key == "q" || key == "ctrl+c" {
					key = "j"
				}
				d.update(keyOf(key))
			case "answer": // of the daemon, in any order
				if n := len(d.queue); n > 0 {
					d.step(rapid.IntRange(0, n-1).Draw(t, "command"))
				}
			case "time":
				f.now = f.now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "ms")) * time.Millisecond)
			case "tick":
				d.update(tickMsg{})
			case "new":
				made++
				f.questions = append(slices.Clone(f.questions), named(0))
			case "gone":
				if n := len(f.questions); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "gone")
					f.questions = slices.Delete(slices.Clone(f.questions), i, i+1)
				}
			case "decided": // anew, under the same id
				if n := len(f.questions); n > 0 {
					f.questions = slices.Clone(f.questions)
					q := &f.questions[rapid.IntRange(0, n-1).Draw(t, "decided")]
					name, _, _ := strings.Cut(strings.TrimPrefix(q.Effects[0], "run "), "v")
					q.Effects = []string{fmt.Sprintf("run %sv%d", name, rapid.IntRange(1, 9).Draw(t, "version"))}
				}
				if rapid.Bool().Draw(t, "told") { // at once
					d.update(tickMsg{})
					d.settle()
				}
			case "resize":
				size()
			case "off":
				f.off = !f.off
			case "record":
				n := int64(len(f.records) + 1)
				f.records = append(f.records, recordOf(n, decisions.Deny, rapid.SampledFrom(nasty).Draw(t, "text")))
			case "nasty":
				if small {
					made++
					q := named(0)
					text := rapid.SampledFrom(nasty).Draw(t, "text")
					q.Effects, q.Reason, q.Harness, q.Cwd, q.Arguments = []string{text, text}, text, text, text, text
					q.Widths[0].Label, q.Widths[1].Rule = text, text
					f.questions = append(slices.Clone(f.questions), q)
				}
			}
			whole(t, d)
			if small { // what is looked at cannot be read there
				continue
			}
			now.look(d)
			answers := strings.Contains("aAdD", key) && key != ""
			if answers && !open && (d.m.form != nil || d.m.confirm != nil) {
				if chosen = before; before.name == "" || f.now.Sub(before.since) < unread {
					t.Fatalf("%s opens a form for what the screen has shown since %v: %+v\n%s", key, f.now.Sub(before.since), before, d.screen())
				}
			}
			for id, name := range d.sending() {
				if _, before := sending[id]; before {
					continue
				}
				from := chosen
				switch {
				case key == "a" || key == "d":
					from = before
				case key != "enter" && key != "y":
					t.Fatalf("%q, which is no answer, answers %s", key, name)
				}
				if from.name != name || f.now.Sub(from.since) < unread {
					t.Fatalf("%s answers %s; the person looked at %+v, now is %v", key, name, from, f.now)
				}
				answered[id]++
			}
		}
		for len(d.queue) > 0 && !f.off && len(f.calls) < 1000 {
			d.step(0)
			if d.m.section == decisionsSection {
				break
			}
		}
		for _, call := range f.calls {
			method, params, _ := strings.Cut(call, " ")
			_, id, ok := strings.Cut(params, `"decisionId":"`)
			if !strings.HasPrefix(method, "questions.") || !ok {
				continue
			}
			id, _, _ = strings.Cut(id, `"`)
			if answered[id]--; answered[id] < 0 && !small {
				t.Fatalf("%s was sent, and no key has said so", call)
			}
		}
	})
}

// sending are the questions whose answers are on their way, by their ids, and what they ask.
func (d *driver) sending() map[string]string {
	is := map[string]string{}
	for i := range d.m.questions.all {
		if q := &d.m.questions.all[i]; q.sending && len(q.Effects) > 0 {
			is[q.DecisionID] = strings.TrimPrefix(q.Effects[0], "run ")
		}
	}
	return is
}
