package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/eventually"
)

// reviewWeb starts permd review --web and returns its link.
func (d *testDaemon) reviewWeb(t *testing.T) string {
	t.Helper()
	link, _ := d.startReviewWeb(t)
	return link
}

// startReviewWeb returns the command, too.
func (d *testDaemon) startReviewWeb(t *testing.T) (string, *exec.Cmd) {
	t.Helper()
	cmd := d.command("review", "--web")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "open?token=") {
			return lines.Text(), cmd
		}
	}
	t.Fatal("permd review --web printed no link")
	return "", nil
}

// browser is a tab of a real browser.
type browser struct {
	context.Context
	t    *testing.T
	base string // of the pages
}

// newBrowser starts a headless Chromium, or skips the test where there is none.
func newBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	at := slices.IndexFunc([]string{"chromium", "chromium-browser", "google-chrome"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	if at < 0 {
		t.Skip("no Chromium is installed")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.test"), chromedp.WindowSize(1200, 900))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(options, more...)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{Context: ctx, t: t}
	if _, err := chromedp.Run(ctx, chromedp.Title()); err != nil { // the browser ends with this context
		t.Fatalf("starting Chromium: %v", err)
	}
	return b
}

// do runs actions, within the time of a test that fails.
func (b *browser) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, eventually.Limit)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v\n%s", what, err, b.text())
	}
}

// press clicks a button until what it causes shows: a browser that has little time loses a
// click, or the button moves, as it may under a person's.
func (b *browser) press(what, button, shows string) {
	b.t.Helper()
	const tries = 5
	for n := range tries {
		if err := b.within(chromedp.Click(chromedp.CSS(button))); err != nil {
			b.t.Logf("%s, try %d: %v", what, n+1, err)
		}
		err := b.within(chromedp.WaitVisible(chromedp.CSS(shows)))
		if err == nil {
			return
		}
		b.t.Logf("%s, try %d: %s does not show: %v", what, n+1, shows, err)
	}
	b.t.Fatalf("%s: pressed in vain\n%s", what, b.text())
}

// within does something within a part of the time that clients of the tests wait.
func (b *browser) within(action chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(b.Context, 12*time.Second)
	defer cancel()
	return chromedp.Do(ctx, action)
}

// text is what the page shows.
func (b *browser) text() (text string) {
	ctx, cancel := context.WithTimeout(b.Context, 5*time.Second)
	defer cancel()
	text, _ = chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText")) // while it loads there is none
	return text
}

// open opens the link, and waits for the first page.
func (b *browser) open(link string) {
	b.t.Helper()
	b.base, _, _ = strings.Cut(link, "open?")
	b.do("opening the link", chromedp.Navigate(link), chromedp.WaitVisible("nav"))
}

// page goes to a page.
func (b *browser) page(path string) {
	b.t.Helper()
	b.do("going to "+path, chromedp.Navigate(b.base+path), chromedp.WaitVisible("h1"))
}

// shows waits until the page shows a text.
func (b *browser) shows(want string) {
	b.t.Helper()
	eventually.Holds(b.t, "the page shows "+want, func() bool { return strings.Contains(b.text(), want) }, b.text)
}

// blocks makes a call that a harness blocks until the person has answered.
func (d *testDaemon) blocks(t *testing.T, project, command string) {
	t.Helper()
	d.hook(t, "cursor", hookInput(hookShell[8].in, project, command))
}

// TestReviewWebAnswers: a page that is open shows a question as it comes, and gives its answer.
func TestReviewWebAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a browser; the tests of package reviewweb are the quick ones")
	}
	t.Parallel()
	b, d := newBrowser(t), startDaemon(t)
	project := d.project(t, map[string]string{"a.txt": "a"})
	b.open(d.reviewWeb(t))
	b.page("questions")
	b.shows("No call waits")
	d.blocks(t, project, "curl -X POST https://api.example.com/v1/deploy")
	b.shows("curl -X POST https://api.example.com/v1/deploy")
	b.press("denying", "button.deny.settled", ".done")
	b.shows("Denied. Nothing is remembered.")
	d.waiting(t, 0)
	r := d.wantAuthor(t, author.Web, false)
	b.page("decisions/" + r.Decision.ID)
	b.shows(fmt.Sprintf("in the browser (uid %d, pid %d, %s)", r.Answer.Author.UID, r.Answer.Author.PID, r.Answer.Author.Process))
}

// TestReviewWebMoved: a press that was meant for one question does not answer another one that
// has just come to its place.
func TestReviewWebMoved(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a browser; the tests of package reviewweb are the quick ones")
	}
	t.Parallel()
	b, d := newBrowser(t), startDaemon(t)
	project := d.project(t, map[string]string{"a.txt": "a"})
	b.open(d.reviewWeb(t))
	d.blocks(t, project, "curl -X POST https://api.example.com/v1/first")
	d.blocks(t, project, "curl -X POST https://api.example.com/v1/second")
	b.page("questions")
	const last = "article:last-of-type button.deny"
	b.do("waiting for the buttons", chromedp.WaitVisible(last+".settled"))
	// As when the first one ends: what was below it is at its place, and is pressed at once.
	moved, err := chromedp.Run(b.Context, chromedp.Evaluate[bool](`(() => { const button = document.querySelector("`+last+`"); document.querySelector("article details").remove(); button.click(); return button.classList.contains("moved") })()`))
	if err != nil || !moved {
		t.Fatalf("the button has not moved: %v", err)
	}
	b.do("waiting", chromedp.WaitVisible(last+".settled"))
	d.waiting(t, 2)
	b.press("denying", last+".settled", ".done")
	d.waiting(t, 1)
}
