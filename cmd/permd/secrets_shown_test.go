package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/testload"
)

// TestSecretsShown has questions about calls with secrets wait, be answered and be remembered, and
// searches whatever a person then sees: the output of each command, of a page in a terminal, and all
// pages of the web that lead to each other.
func TestSecretsShown(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs each command that shows decisions; TestCanary is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"main.go": "package main\n", "package.json": "{}\n"})
	d.start(t)
	w := d.session(t, project)
	var heard strings.Builder
	follow := d.command("log", "follow")
	follow.Stdout, follow.Stderr = &heard, &heard
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	s := &speaker{wire: w, dir: project}
	calls := secretCalls(t)
	calls = calls[:len(effectstest.SecretCommands())]
	kept := 0
	for i, c := range testload.Sample(t, 60, calls) {
		r := s.say(t, "permd/decide", map[string]any{"sessionId": "s1", "calls": []any{c.native(fmt.Sprint("shown-", i))}})
		if len(r.Result.Decisions) != 1 || r.Result.Decisions[0].Verdict != "ask" {
			continue
		}
		q := r.Result.Decisions[0]
		if i%3 == 0 {
			continue // it waits
		}
		answer := map[string]any{"decisionId": q.ID, "verdict": []string{"allow", "deny"}[i%2], "scope": "project"}
		if len(q.Widths) > 0 {
			answer["width"] = q.Widths[len(q.Widths)-1].ID
		}
		if r := s.say(t, "permd/choose", answer); r.Error.Code == 0 {
			kept++
		}
	}
	if kept == 0 {
		t.Fatal("no answer was kept")
	}
	d.secretsOverHooks(t, project, calls)
	lines := []string{
		"log list --json", "log list --verdict ask", "log stats", "log stats --json", "log export", "log export --format opa", "log export --format csv", "allow", "allow --json", "suggest", "suggest --json", "why-asked", "why-asked --json",
		"today", "today --json", "remember list", "remember list --json", "remember list --changed", "remember export", "remember export --format rego", "remember export --format jsonl", "status", "status --json", "doctor", "doctor --json", "policy shadow", "policy list",
	}
	kind := func(r decisions.Record) string { return fmt.Sprint(r.Protocol, r.Client.Name, r.Decision.Verdict) }
	for i, rec := range testload.SampleOf(t, 12, d.records(t), kind) {
		id := rec.Decision.ID
		lines = append(lines, [][]string{{"log show " + id, "explain --json " + id}, {"log show --json " + id, "explain " + id}}[i%2]...)
	}
	for _, line := range lines {
		if out, _ := d.command(strings.Fields(line)...).CombinedOutput(); strings.Contains(string(out), everywhere) {
			t.Errorf("permd %s shows a secret: %s", line, around(string(out)))
		}
	}
	_ = follow.Process.Kill()
	_ = follow.Wait()
	if text := heard.String(); strings.Contains(text, everywhere) || !strings.Contains(text, "ask") {
		t.Errorf("permd log follow, %d bytes: %s", len(text), around(text))
	}
	if n := secretsOfPages(t, d.reviewWeb(t)); n < 20 {
		t.Errorf("%d pages", n)
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Log("tmux is not installed")
		return
	}
	if out := d.permd(t, "allow"); strings.Count(out, "\n") < 10 {
		t.Errorf("too few questions wait: %s", out)
	}
	page := terminalOf(t, d, 250, 200, nil, "review")
	for _, step := range [][]string{
		{"1", "[1 questions", "── 1 of"}, {"e", "rawInput"}, {"q", "[1 questions"}, {"2", "[2 decisions", "── 1 of"}, {"e", "rawInput"}, {"q", "[2 decisions"}, {"3", "[3 choices"}, {"4", "[4 rules"},
	} {
		page.keys(step[0])
		if text := page.shows(step[1:]...); strings.Contains(strings.Join(strings.Fields(text), ""), everywhere) {
			t.Errorf("permd review shows a secret: %s", around(text))
		}
	}
}

var pageLinks = regexp.MustCompile(`(?:href|hx-get|src|action)="([^"]+)"`)

// secretsOfPages opens a link and the pages that it leads to, and returns their number.
func secretsOfPages(t *testing.T, link string) (opened int) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: 30 * time.Second}
	seen, queue := map[string]bool{}, []string{strings.TrimSpace(link)}
	for len(queue) > 0 && opened < 150 {
		at := queue[0]
		queue = queue[1:]
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			cancel()
			continue // it has no end, or is none of this server
		}
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
		_ = resp.Body.Close()
		cancel()
		opened++
		if strings.Contains(string(body), everywhere) {
			t.Errorf("%s shows a secret: %s", at, around(string(body)))
		}
		for _, m := range pageLinks.FindAllStringSubmatch(string(body), -1) {
			next, err := resp.Request.URL.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			if err == nil && next.Host == resp.Request.URL.Host && !seen[next.String()] {
				seen[next.String()] = true
				queue = append(queue, next.String())
			}
		}
	}
	return opened
}
