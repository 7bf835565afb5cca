package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/permd/permd/internal/eventually"
)

// TestFailuresReviewWeb has the failures between the pages of permd review --web and the daemon,
// and between them and their clients.
func TestFailuresReviewWeb(t *testing.T) {
	failures(t, []failure{
		{"review, the daemon is killed while a page is open", reviewKilled},
		{"review, the daemon hangs", reviewStopped},
		{"review, a no cannot be remembered", reviewNeverUnstored},
		{"review, clients that hang", reviewHung},
		{"review, decisions that cannot be read", reviewDamaged},
	}, "review, the daemon is killed while a page is open")
}

// reviewer is a client of the pages that has opened the link.
type reviewer struct {
	*testing.T
	*testDaemon
	http.Client
	link, base string
}

func newReviewer(t *testing.T, d *testDaemon) *reviewer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &reviewer{T: t, testDaemon: d, link: d.reviewWeb(t)}
	r.Jar, r.Timeout = jar, eventually.Limit
	r.base, _, _ = strings.Cut(r.link, "open?")
	if status, text := r.get(strings.TrimPrefix(r.link, r.base)); status != http.StatusOK {
		t.Fatalf("the link: %d %s", status, text)
	}
	return r
}

func (r *reviewer) get(page string) (status int, text string) {
	r.Helper()
	a, err := r.Get(r.base + page)
	if err != nil {
		r.Fatalf("%s: %v", page, err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		r.Fatalf("%s: %v", page, err)
	}
	return a.StatusCode, string(data)
}

// post sends a form of a page.
func (r *reviewer) post(page, of string, form url.Values) (status int, text string) {
	r.Helper()
	_, html := r.get(of)
	_, rest, _ := strings.Cut(html, `name="form_token" value="`)
	token, _, _ := strings.Cut(rest, `"`)
	form.Set("form_token", token)
	q, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.base+page, strings.NewReader(form.Encode()))
	if err != nil {
		r.Fatal(err)
	}
	at, err := url.Parse(r.base)
	if err != nil {
		r.Fatal(err)
	}
	q.Header.Set("Origin", "http://"+at.Host)
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := r.Do(q)
	if err != nil {
		r.Fatalf("%s: %v", page, err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		r.Fatal(err)
	}
	return a.StatusCode, string(data)
}

// reviewKilled: pages say that the daemon does not answer, show what the log has, answer
// nothing meanwhile, and go on when it runs again.
func reviewKilled(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	r := newReviewer(t, d)
	d.hook(t, "cursor", hookInput(hookShell[8].in, project, "curl -X POST https://api.example.com/v1"))
	id := d.waiting(t, 1)[0]
	if status, text := r.get("questions"); status != http.StatusOK || !strings.Contains(text, id) {
		t.Fatalf("the questions: %d %s", status, text)
	}
	form, never := url.Values{"answer": {"allow"}}, url.Values{"answer": {"deny"}, "never": {"r1"}}
	d.kill()
	if status, text := r.post("questions/"+id, "questions", never); status != http.StatusServiceUnavailable || !strings.Contains(text, "did not confirm the answer") || strings.Contains(text, "Denied") {
		t.Errorf("a no that is remembered without a daemon: %d %s", status, text)
	}
	if status, text := r.post("questions/"+id, "questions", form); status != http.StatusServiceUnavailable || !strings.Contains(text, "did not confirm the answer") || strings.Contains(text, "Allowed") {
		t.Errorf("an answer without a daemon: %d %s", status, text)
	}
	for _, counts := range []string{"counts/question", "counts/choice"} {
		if status, text := r.post(counts, "questions", url.Values{"known": {id}, "counted": {"w1"}, "id": {"aaaaaaaaaaaa"}}); status != http.StatusOK || !strings.Contains(text, "what it would have matched is not known: the daemon does not answer") {
			t.Errorf("%s without a daemon: %d %s", counts, status, text)
		}
	}
	for page, want := range map[string]string{"": "14 days", "questions": "has not answered since", "decisions": "api.example.com", "decisions/" + id: "curl -X POST", "watch?page=questions&v=0": "has not answered since"} {
		if status, text := r.get(page); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%q without a daemon: %d %s", page, status, text)
		}
	}
	if status, text := r.get("choices"); status != http.StatusServiceUnavailable || !strings.Contains(text, "The daemon does not answer") {
		t.Errorf("choices without a daemon: %d %s", status, text)
	}
	d.start(t)
	eventually.Holds(t, "the pages go on", func() bool {
		status, text := r.get("questions")
		return status == http.StatusOK && !strings.Contains(text, "has not answered since")
	})
	// The question ended with the daemon, so a late answer to it counts for nothing.
	if status, text := r.post("questions/"+id, "choices?verdict=allow", form); status != http.StatusForbidden && status != http.StatusConflict {
		t.Errorf("an answer to a question of before: %d %s", status, text)
	}
	if list := d.choices(t); len(list) != 0 {
		t.Errorf("remembered: %+v", list)
	}
}

// reviewStopped: pages say that a daemon which hangs does not answer, an answer to a question
// is not confirmed, and the pages go on with it.
func reviewStopped(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	r := newReviewer(t, d)
	d.hook(t, "cursor", hookInput(hookShell[8].in, project, "curl -X POST https://api.example.com/v1"))
	id := d.waiting(t, 1)[0]
	if err := d.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Each of its threads stops when it next runs.
	var state syscall.WaitStatus
	if _, err := syscall.Wait4(d.cmd.Process.Pid, &state, syscall.WUNTRACED, nil); err != nil || !state.Stopped() {
		t.Fatalf("it does not stop: %v %v", state, err)
	}
	if status, text := r.get("questions"); status != http.StatusOK || !strings.Contains(text, "has not answered since") {
		t.Errorf("the questions: %d %s", status, text)
	}
	if status, text := r.post("questions/"+id, "questions", url.Values{"answer": {"deny"}}); status == http.StatusOK || strings.Contains(text, "Denied") {
		t.Errorf("an answer: %d %s", status, text)
	}
	if err := d.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the pages go on", func() bool {
		status, text := r.get("questions")
		return status == http.StatusOK && !strings.Contains(text, "has not answered since")
	})
}

// reviewNeverUnstored: a no that cannot be stored leaves the question open, and the page says so;
// so does one with a width or a limit that there is not.
func reviewNeverUnstored(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	r := newReviewer(t, d)
	d.hook(t, "cursor", hookInput(hookShell[8].in, project, "curl -X POST https://api.example.com/v1"))
	id := d.waiting(t, 1)[0]
	for _, form := range []url.Values{
		{"answer": {"deny"}, "never": {"w1"}},
		{"answer": {"deny"}, "never": {"r1"}, "scope": {"org"}},
		{"answer": {"deny"}, "never": {"r1"}, "expires": {"-1"}},
	} {
		if status, text := r.post("questions/"+id, "questions", form); status != http.StatusBadRequest || strings.Contains(text, "Denied") {
			t.Errorf("%v: %d %s", form, status, text)
		}
	}
	never := url.Values{"answer": {"deny"}, "never": {"r1"}}
	release := d.lockDatabase(t, "remember.db")
	if status, text := r.post("questions/"+id, "questions", never); status != http.StatusInternalServerError || !strings.Contains(text, "could not be stored") || strings.Contains(text, "Denied") {
		t.Errorf("an answer that cannot be stored: %d %s", status, text)
	}
	release()
	d.waiting(t, 1)
	if list := d.choices(t); len(list) != 0 {
		t.Errorf("remembered: %+v", list)
	}
	if status, text := r.post("questions/"+id, "questions", never); status != http.StatusOK || !strings.Contains(text, "Denied.") || !strings.Contains(text, "remembered: deny ") {
		t.Errorf("the same answer afterwards: %d %s", status, text)
	}
	d.waiting(t, 0)
	d.kill()
	d.start(t)
	if list := d.choices(t); len(list) != 1 || list[0].Verdict != "deny" {
		t.Errorf("remembered: %+v", list)
	}
}

// reviewHung: clients that send nothing, and that do not read, hold up a page for no longer
// than the limit of a request.
func reviewHung(t *testing.T) {
	d := startDaemon(t)
	r := newReviewer(t, d)
	at, err := url.Parse(r.base)
	if err != nil {
		t.Fatal(err)
	}
	const hung = 100 // more than are served at one time
	for i := range hung {
		c, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			fmt.Fprintf(c, "GET %swatch?v=1 HTTP/1.1\r\nHost: %s\r\n", at.Path, at.Host) // and no end
		}
	}
	r.Transport = &http.Transport{DisableKeepAlives: true}
	eventually.Holds(t, "a page is served beside those that hang", func() bool {
		a, err := r.Get(r.base)
		if err != nil {
			return false
		}
		defer a.Body.Close()
		return a.StatusCode == http.StatusOK
	})
	d.session(t, d.project(t, nil)) // the daemon takes no notice
}

// reviewDamaged: rows of the journal that cannot be read are shown as such, in lists and by
// themselves.
func reviewDamaged(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	w := d.session(t, project)
	wantAllowed(t, w)
	wantAllowed(t, w)
	id := d.records(t)[0].Decision.ID
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.changes(t, "UPDATE decisions SET record = x'00' WHERE seq = 1")
	d.start(t)
	r := newReviewer(t, d)
	for page, want := range map[string]string{"": "unreadable", "decisions": "unreadable", "decisions/" + id: "This decision cannot be read", "rules": "decided one of the latest"} {
		if status, text := r.get(page); (status == http.StatusOK) == strings.HasPrefix(want, "This") || !strings.Contains(text, want) {
			t.Errorf("%q: %d %s", page, status, bytes.TrimSpace([]byte(text)))
		}
	}
}
