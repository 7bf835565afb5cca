package review

import (
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/policy"
)

// TestProblemsShown: the page says what keeps the daemon from working as it should, such as
// changed rules that wait, and says it no longer when that has ended. It asks every five seconds.
func TestProblemsShown(t *testing.T) {
	t.Parallel()
	f := filledDaemon()
	f.status.Policy.Waiting = &policy.Waiting{Mode: "manual", Parts: []string{"user"}, Since: start}
	d := newDriver(f)
	said := []string{"Changed user rules wait since ", `reload is "manual"`, "permd reload puts them"}
	d.says(t, said...)
	d.keys("4")
	d.says(t, said...)
	d.keys("e")
	if strings.Contains(d.screen(), said[0]) {
		t.Errorf("a page that explains has no room for it:\n%s", d.screen())
	}
	d.keys("q", "1")

	f.status.Policy.Waiting = nil
	d.refresh()
	d.says(t, said...)
	f.now = f.now.Add(statusEvery)
	d.refresh()
	if strings.Contains(d.screen(), said[0]) {
		t.Errorf("no rules wait any more:\n%s", d.screen())
	}

	f.status.Journal.Failing = "disk full" + hostile
	f.now = f.now.Add(statusEvery)
	d.refresh()
	d.says(t, "The journal cannot be written, so nothing is allowed: disk full")
	if text := d.screen(); strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("the screen has what it was sent: %q", text)
	}
	f.off = true
	d.refresh()
	if text := d.screen(); strings.Contains(text, "disk full") {
		t.Errorf("it is not known any more:\n%s", text)
	}
	// Small terminals keep their lists.
	f.off = false
	f.now = f.now.Add(time.Minute)
	d.resize(20, 6)
	d.refresh()
	d.says(t, "frob")
}
