package shadow

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/statefile"
	"github.com/permd/permd/policy"
)

// fakeRules are shadow rules that settings name and that were read, both if not empty.
type fakeRules struct {
	dir string
	st  *policy.LayerStatus
}

func (r fakeRules) Trying() bool { return r.st != nil }

func (r fakeRules) Shadow(decisions.Snapshot) (decisions.Snapshot, bool) { return nil, true }

func (r fakeRules) ShadowDir() string { return r.dir }

func (r fakeRules) ShadowStatus() *policy.LayerStatus { return r.st }

// kept starts a Comparer where a report is kept.
func kept(t *testing.T, rules Rules, groups ...*Group) *Comparer {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(&Report{
		Version: version, Folder: "/f", Layer: decisions.User, Digest: "d", Since: time.Now(), Compared: 9, Different: 3 * len(groups), NotCompared: []Missed{}, Groups: groups,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{File: filepath.Join(dir, "shadow.json"), MaxAge: 24 * time.Hour, Rules: rules, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err := statefile.Replace(c.o.File, data); err != nil {
		t.Fatal(err)
	}
	c.Start(nil)
	return c
}

// groupOf returns a group with three calls at some times.
func groupOf(rule string, at ...time.Time) *Group {
	g := &Group{From: decisions.Allow, To: decisions.Deny, Rule: rule, Was: "w", Count: 3, First: at[0], Last: at[len(at)-1]}
	for _, at := range at {
		g.Examples = append(g.Examples, Example{DecisionID: rule, Time: at, Call: "ls", Reason: "no"})
	}
	return g
}

// examples says how many examples each group has.
func examples(r *Report) string {
	text := ""
	for _, g := range r.Groups {
		text += fmt.Sprintf("%s:%d ", g.Rule, len(g.Examples))
	}
	return fmt.Sprintf("%sand %d", text, r.Ungrouped)
}

// TestReportForgets: what is too old is neither shown nor on the disk, without anything else that
// changes.
func TestReportForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, st := time.Now(), &policy.LayerStatus{Layer: decisions.User, Paths: []string{"/f"}, Digest: "d"}
		hours := func(n time.Duration) time.Time { return now.Add(n * time.Hour) }
		c := kept(t, fakeRules{"/f", st}, groupOf("old", hours(-30)), groupOf("half", hours(-30), hours(-10)), groupOf("new", now))
		defer c.Close()
		check := func(want string) {
			t.Helper()
			synctest.Wait()
			r, err := read(c.o.File)
			if err != nil {
				t.Fatal(err)
			}
			if got := examples(r); got != want {
				t.Errorf("on the disk is %s, want %s", got, want)
			}
		}
		time.Sleep(saveEvery + time.Second)
		check("half:1 new:1 and 3")
		time.Sleep(16 * time.Hour)
		check("new:1 and 6")
		time.Sleep(8 * time.Hour)
		if got := examples(c.Report()); got != "and 9" {
			t.Errorf("shown is %s", got)
		}
		time.Sleep(time.Hour)
		check("and 9")
	})
}

// TestReportOfNoRules: without shadow rules in the settings no report is left, and one of rules
// that were not yet read is.
func TestReportOfNoRules(t *testing.T) {
	for _, dir := range []string{"", "/f"} {
		synctest.Test(t, func(t *testing.T) {
			c := kept(t, fakeRules{dir: dir}, groupOf("r", time.Now()))
			defer c.Close()
			time.Sleep(saveEvery + time.Second)
			synctest.Wait()
			if _, err := os.Stat(c.o.File); (err == nil) != (dir != "") || err != nil && !os.IsNotExist(err) {
				t.Errorf("with %q: %v", dir, err)
			}
		})
	}
}

// TestUnreadableReport: a report that cannot be read is not left either.
func TestUnreadableReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{File: filepath.Join(t.TempDir(), "shadow.json"), Rules: fakeRules{}, Log: slog.New(slog.DiscardHandler), Now: time.Now})
		if err := statefile.Replace(c.o.File, []byte("{")); err != nil {
			t.Fatal(err)
		}
		c.Start(nil)
		time.Sleep(saveEvery + time.Second)
		c.Close()
		if _, err := os.Stat(c.o.File); !os.IsNotExist(err) {
			t.Errorf("the error is %v, want %v", err, fs.ErrNotExist)
		}
	})
}

// TestExamplesAreBounded: of a group the first example and the latest are kept, also where the
// file has more.
func TestExamplesAreBounded(t *testing.T) {
	now := time.Now()
	c := New(Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	c.report.Groups = []*Group{groupOf("no", now, now, now, now, now)}
	for i, id := range []string{"a", "b", "c"} {
		c.report.Groups[0].Was = "yes"
		c.add(&decisions.Decided{ID: id, Time: now, Verdict: decisions.Allow, Reason: "yes"}, &decisions.Decision{Verdict: decisions.Deny, Reason: "no"})
		if len(c.report.Groups) != 1 || len(c.report.Groups[0].Examples) != maxExamples {
			t.Fatalf("after %d: %d examples in %d groups", i+1, len(c.report.Groups[0].Examples), len(c.report.Groups))
		}
	}
	var ids []string
	for _, e := range c.report.Groups[0].Examples {
		ids = append(ids, e.DecisionID)
	}
	if !slices.Equal(ids, []string{"no", "b", "c"}) {
		t.Errorf("the examples are %v", ids)
	}
}
