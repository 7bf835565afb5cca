package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/socket/admin"
)

// waitedFor is a client without a person, which waits for the answer to one call.
type waitedFor struct {
	id     string
	answer chan string
}

func (d *testDaemon) waitsFor(t *testing.T, project, session, command string) *waitedFor {
	t.Helper()
	l := d.dial(t)
	if err := l.Call(t.Context(), "permd/session", map[string]any{"sessionId": session, "cwd": project, "agent": map[string]any{"name": "claude-code"}}, nil); err != nil {
		t.Fatal(err)
	}
	var made struct {
		Decisions []struct {
			ID string `json:"decisionId"`
		} `json:"decisions"`
	}
	if err := l.Call(t.Context(), "permd/decide", map[string]any{"sessionId": session, "calls": []any{map[string]any{"callId": "1", "tool": map[string]any{"name": "Bash"}, "input": map[string]any{"command": command}}}}, &made); err != nil {
		t.Fatal(err)
	}
	w := &waitedFor{made.Decisions[0].ID, make(chan string, 1)}
	go func() {
		var got struct {
			Answer string `json:"answer"`
		}
		// The test's own context ends before its connection is closed.
		if err := l.Call(context.WithoutCancel(t.Context()), "permd/wait", map[string]any{"decisionId": w.id, "seconds": 55}, &got); err != nil {
			got.Answer = err.Error()
		}
		w.answer <- got.Answer
	}()
	d.manageUntil(t, w.id)
	return w
}

// manageUntil waits until a question can be answered.
func (d *testDaemon) manageUntil(t *testing.T, id string) {
	t.Helper()
	eventually.Holds(t, "the question waits", func() bool {
		var list admin.Questions
		if err := d.manage(t, admin.MethodQuestionsList, struct{}{}, &list); err != nil {
			return false
		}
		for _, q := range list.Questions {
			if q.DecisionID == id {
				return true
			}
		}
		return false
	})
}

// choices returns what is remembered.
func (d *testDaemon) choices(t *testing.T) []admin.Choice {
	t.Helper()
	var list admin.Choices
	if err := d.manage(t, admin.MethodChoicesList, struct{}{}, &list); err != nil {
		t.Fatal(err)
	}
	return list.Choices
}

// choose gives a field a value, as a person does.
func (b *browser) choose(field, value string) {
	b.t.Helper()
	b.do("choosing "+value, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(e => { e.value = %q; for (const name of ["input", "change"]) e.dispatchEvent(new Event(name, {bubbles: true})) })(document.querySelector(%q))`, value, field)))
}

// says waits until the page shows a text, whose lines may be others.
func (b *browser) says(want string) {
	b.t.Helper()
	eventually.Holds(b.t, "the page says "+want, func() bool { return strings.Contains(strings.Join(strings.Fields(b.text()), " "), want) }, b.text)
}

// focused is the element that has the focus.
func (b *browser) focused() string {
	b.t.Helper()
	text, err := chromedp.Run(b.Context, chromedp.Evaluate[string](`(e => e.tagName + " " + e.className + " " + (e.name || "") + " " + (e.value || ""))(document.activeElement)`))
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// TestReviewWebActions: what a person can do with questions and choices, in the order in which
// they would.
func TestReviewWebActions(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a browser; the tests of package reviewweb are the quick ones")
	}
	t.Parallel()
	b, d := newBrowser(t), startDaemon(t)
	project := d.project(t, map[string]string{"a.txt": "a"})
	b.open(d.reviewWeb(t))
	b.page("questions")

	// By keyboard alone: the client that waits has the answer, and the focus is on the result.
	first := d.waitsFor(t, project, "s1", "curl -X POST https://api.example.com/one")
	b.shows("https://api.example.com/one")
	b.do("pressing enter in a field", chromedp.Focus(chromedp.CSS("input[name=width]")), chromedp.KeyEvent("\r"), chromedp.Evaluate[chromedp.Void](`fetch("questions").then(r => r.text())`, chromedp.EvalAwaitPromise))
	d.waiting(t, 1)
	b.do("allowing by keyboard", chromedp.Focus(chromedp.CSS("button.allow.settled")), chromedp.KeyEvent("\r"), chromedp.WaitVisible(chromedp.CSS("article.result .done")))
	if got := <-first.answer; got != "allow" {
		t.Errorf("the client is told %s", got)
	}
	if got := b.focused(); got != "ARTICLE card result  " {
		t.Errorf("the focus is on %s", got)
	}
	b.shows("Allowed once. The client that waited has the answer; nothing is remembered.")

	// Always, with a width, a scope and a limit; and taken back at once.
	b.page("questions")
	second := d.waitsFor(t, project, "s2", "curl -X POST https://api.example.com/two")
	b.shows("https://api.example.com/two")
	// What each width would have matched, in the scope that is chosen, is what the command says.
	b.shows(d.countOf(t, "w1"))
	b.shows(d.countOf(t, "r1"))
	said, err := choices.Previews(t.Context(), d.dialAdmin(t), admin.PreviewParams{DecisionIDs: []string{second.id}, Scope: "user"})
	if err != nil || strings.Contains(b.text(), choices.Count(&said[0])+"\n") {
		t.Fatalf("the page says %q before it is asked: %v", choices.Count(&said[0]), err)
	}
	b.choose("select[name=scope]", "user")
	b.shows(choices.Count(&said[0]) + "\n")
	b.do("allowing for always", chromedp.Click(chromedp.CSS(`input[name=width][value=w1]`)), chromedp.SetValue(chromedp.CSS("select[name=scope]"), "project"),
		chromedp.SetValue(chromedp.CSS("select[name=expires]"), "28800"))
	b.press("allowing for always", "button.allow.settled", "article.result .done")
	if got := <-second.answer; got != "allow" {
		t.Errorf("the client is told %s", got)
	}
	stored := d.choices(t)
	if len(stored) == 0 || stored[0].Scope != "project" || stored[0].Expires.IsZero() {
		t.Fatalf("remembered: %+v", stored)
	}
	b.do("undoing", chromedp.Click(chromedp.CSS("article.result form button")))
	b.shows("Taken back: answer")
	if left := d.choices(t); len(left) != 0 {
		t.Errorf("still remembered: %+v", left)
	}

	// Never, with a width, a scope and a limit: what was stored is said, and taken back at once.
	b.page("questions")
	never := d.waitsFor(t, project, "s6", "curl -X POST https://api.example.com/never")
	b.shows("https://api.example.com/never")
	b.do("denying for always", chromedp.Click(chromedp.CSS(`input[name=never][value=r1]`)), chromedp.SetValue(chromedp.CSS("select[name=scope]"), "user"),
		chromedp.SetValue(chromedp.CSS("select[name=expires]"), "28800"))
	b.press("never allowing", "button.deny.settled", "article.result .done")
	if got := <-never.answer; got != "deny" {
		t.Errorf("the client is told %s", got)
	}
	stored = d.choices(t)
	if len(stored) != 1 || stored[0].Verdict != "deny" || stored[0].Scope != "user" || stored[0].Expires.IsZero() {
		t.Fatalf("remembered: %+v", stored)
	}
	b.shows("Denied.")
	b.shows("remembered: deny " + strings.ReplaceAll(labelOf(&stored[0]), "\n", " + ") + " (user, until ")
	b.do("undoing", chromedp.Click(chromedp.CSS("article.result form button")))
	b.shows("Taken back: answer")
	if left := d.choices(t); len(left) != 0 {
		t.Errorf("still remembered: %+v", left)
	}

	// Answered elsewhere meanwhile: the page says so, and its own answer counts for nothing.
	b.page("questions")
	third := d.waitsFor(t, project, "s3", "curl -X POST https://api.example.com/three")
	b.shows("https://api.example.com/three")
	d.permd(t, "deny", third.id)
	b.shows("It was denied at")
	b.shows(", by permd deny.")
	if got := <-third.answer; got != "deny" {
		t.Errorf("the client is told %s", got)
	}
	fourth := d.waitsFor(t, project, "s4", "curl -X POST https://api.example.com/four")
	b.shows("https://api.example.com/four")
	late, err := chromedp.Run(b.Context, chromedp.Evaluate[string](`(f => { f.hidden = true; return new URLSearchParams(new FormData(f)).toString() + "&answer=allow" })(document.querySelector("article.question form"))`))
	if err != nil {
		t.Fatal(err)
	}
	d.permd(t, "deny", fourth.id)
	told, err := chromedp.Run(b.Context, chromedp.Evaluate[string](`fetch("questions/`+fourth.id+`", {method: "POST", headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: `+"`"+late+"`"+`}).then(r => r.text().then(x => r.status + x))`, chromedp.EvalAwaitPromise))
	if err != nil || len(told) < 3 || told[:3] != "409" {
		t.Errorf("a second answer: %v %.80s", err, told)
	}
	if got := <-fourth.answer; got != "deny" {
		t.Errorf("the client is told %s", got)
	}

	// Choices: forgotten, taken back, changed.
	d.permd(t, "remember", "add", "run", "go test *", "--dir", project)
	d.permd(t, "remember", "add", "write", "./docs/**", "--dir", project)
	b.page("choices?kind=run")
	b.shows("go test *")
	b.do("forgetting", chromedp.Click(chromedp.CSS("input[name=id]")))
	b.press("forgetting", "button.deny.settled", ".done")
	b.shows("1 choice forgotten.")
	if left := d.choices(t); len(left) != 1 || left[0].Kind != "write" {
		t.Errorf("remembered: %+v", left)
	}
	b.page("changes")
	b.do("undoing", chromedp.Click(chromedp.CSS("main article form button")), chromedp.WaitVisible(chromedp.CSS(".done")))
	again := d.choices(t)
	if len(again) != 2 {
		t.Fatalf("remembered: %+v", again)
	}
	b.page("choices/" + again[0].ID)
	b.do("changing", chromedp.SetValue(chromedp.CSS("select[name=scope]"), "user"), chromedp.SetValue(chromedp.CSS("select[name=expires]"), "604800"), chromedp.Click(chromedp.CSS("form[action$=change] .fields button")), chromedp.WaitVisible(chromedp.CSS(".result .done")))
	b.shows("1 choice changed.")
	changed := false
	for _, c := range d.choices(t) {
		changed = changed || c.Scope == "user" && !c.Expires.IsZero()
	}
	if !changed {
		t.Errorf("remembered: %+v", d.choices(t))
	}
	line := strings.Fields(d.permd(t, "remember", "add", "run", "frob build", "--dir", project))[0]
	b.page("choices/" + line)
	would := func(args ...string) string {
		t.Helper()
		return strings.Join(strings.Fields(d.permd(t, append([]string{"remember", "change", line, "--dry-run"}, args...)...)), " ")
	}
	_, asItIs, _ := strings.Cut(would("--for-ever"), " would have ")
	b.shows("as it is, it would have " + asItIs)
	b.choose("input[name=line]", "frob build *")
	b.says(would("--line", "frob build *"))
	b.choose("form[action$=change] select[name=scope]", "user")
	b.says(would("--line", "frob build *", "--scope", "user"))
	b.choose("form[action$=change] select[name=scope]", "")
	b.choose("input[name=line]", "sh -c *")
	b.says("would be refused: ")
	// What the page names for a shell prints the choice.
	b.shows("permd remember export " + line)
	if out := d.permd(t, "remember", "export", line); !strings.Contains(out, "'frob build'") || strings.Contains(out, "docs") {
		t.Errorf("permd remember export %s prints\n%s", line, out)
	}
	b.do("widening", chromedp.SetValue(chromedp.CSS("input[name=line]"), "frob build *"), chromedp.SetValue(chromedp.CSS("select[name=expires]"), "28800"), chromedp.Click(chromedp.CSS("form[action$=change] .fields button")), chromedp.WaitVisible(chromedp.CSS(".result .done")))
	b.shows("allow run frob build * (project ")
	if list := d.choices(t); !slices.ContainsFunc(list, func(c admin.Choice) bool { return c.Rule == "frob build *" && !c.Expires.IsZero() }) || slices.ContainsFunc(list, func(c admin.Choice) bool { return c.Rule == "frob build" }) {
		t.Errorf("remembered: %+v", list)
	}
	b.do("undoing", chromedp.Click(chromedp.CSS("article.result form button")))
	b.shows("Taken back: change")
	if list := d.choices(t); !slices.ContainsFunc(list, func(c admin.Choice) bool { return c.Rule == "frob build" && c.Expires.IsZero() }) {
		t.Errorf("remembered: %+v", list)
	}
	b.page("choices/aaaaaaaaaaaa")
	b.shows("There is no choice of that id")
	b.page("choices")
	b.press("forgetting nothing", "button.deny.settled", ".result .problem")
	b.shows("No choice was selected. Nothing was changed.")

	// Live decisions, and one explained.
	b.page("decisions")
	d.permd(t, "try", "ls")
	d.waitsFor(t, project, "s5", "curl -X POST https://api.example.com/five")
	b.shows("https://api.example.com/five")
	b.do("explaining", chromedp.Click(chromedp.CSS("#rows li a")), chromedp.WaitVisible(chromedp.CSS("#effects")))
	b.shows("It waits for you")
	b.shows("base/")
}

// TestReviewWebRestart: an open page says that the daemon is gone and that it is back, and when
// its own command has ended.
func TestReviewWebRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a browser; TestFailuresReview has the quick one")
	}
	t.Parallel()
	b, d := newBrowser(t), startDaemon(t)
	project := d.project(t, nil)
	end := d.reviewWebUntil(t, b)
	b.page("questions")
	b.shows("No call waits")
	d.kill()
	b.shows("The daemon has not answered since")
	d.start(t)
	eventually.Holds(t, "the page goes on", func() bool { return !strings.Contains(b.text(), "has not answered since") })
	d.waitsFor(t, project, "s1", "curl -X POST https://api.example.com/again")
	b.shows("https://api.example.com/again")
	end()
	b.shows("This page no longer has a server")
}

// reviewWebUntil opens pages in a browser; end ends their command as Ctrl-C does.
func (d *testDaemon) reviewWebUntil(t *testing.T, b *browser) (end func()) {
	t.Helper()
	link, cmd := d.startReviewWeb(t)
	b.open(link)
	return func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("permd review --web ended with %v", err)
		}
	}
}

// TestReviewWebConfirm: the list has a button to confirm where a choice can be, and it does.
func TestReviewWebConfirm(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for a button alone; the tests of package reviewweb are the quick ones")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	p, r := d.asks(t, project), newReviewer(t, d)
	d.permd(t, "remember", "add", "run", "frob", "--dir", project)
	const button = "Confirm the selected ones"
	if _, list := r.get("choices"); strings.Contains(list, button) {
		t.Errorf("there is nothing to confirm:\n%s", list)
	}
	q := p.ask("s", "Write", map[string]string{"file_path": filepath.Join(project, ".git/hooks/pre-commit"), "content": "x"})
	kept := p.choose(q, map[string]any{"width": q.Widths[0].ID}, "")
	if _, list := r.get("choices"); len(kept) != 1 || !strings.Contains(list, button) || !strings.Contains(list, "not confirmed, so not used") {
		t.Errorf("%+v cannot be confirmed:\n%s", kept, list)
	}
	if status, text := r.post("choices/confirm", "choices", url.Values{"id": {kept[0].ID}}); status != http.StatusOK || !strings.Contains(text, "1 choice confirmed.") {
		t.Errorf("confirming it: %d %s", status, text)
	}
	p.is(p.ask("s", "Write", map[string]string{"file_path": filepath.Join(project, ".git/hooks/pre-commit"), "content": "x"}), decisions.Allow, decisions.ByMemory)
}
