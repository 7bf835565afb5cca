package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/permd/permd/decisions"
)

// hostileTexts are what agents, projects and rules could bring into a page.
var hostileTexts = []string{
	`<script>window.pwned=1</script>`, `"><img src=x onerror=window.pwned=1>`, `'onmouseover='window.pwned=1`, `</textarea></title><svg onload=window.pwned=1>`,
	`{{.Form}}`, `<div hx-get="/x" hx-trigger="load">`, "\u202egnp.exe", "\x1b[31mred\x1b[0m", "\x1b]8;;http://evil.test\aclick", "\u200bzero",
}

// TestReviewWebHostile: no text of an agent, a path, a title or a reason becomes a part of a
// page, turns its text, or makes it load something.
func TestReviewWebHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a browser; the tests of package reviewweb are the quick ones")
	}
	t.Parallel()
	r := newReviewed(t, " "+strings.Join(hostileTexts, " "))
	call, _ := json.Marshal(map[string]any{"agent": map[string]any{"name": "agent" + strings.Join(hostileTexts, "")}, "tool": map[string]any{"name": "tool" + hostileTexts[1]}, "input": map[string]any{"path": hostileTexts[0]}})
	cmd := r.command("decide", "--cwd", r.project, "-")
	cmd.Stdin = strings.NewReader(string(call))
	_ = cmd.Run() // it asks
	cmd = r.command("decide", "--agent", "claude-code", "--cwd", r.project, "-")
	hidden, _ := json.Marshal(filepath.Join(r.project, strings.ReplaceAll(strings.Join(hostileTexts[6:], ""), "/", "")))
	cmd.Stdin = strings.NewReader(`{"tool": {"name": "Read"}, "input": {"file_path": ` + string(hidden) + `}}`)
	_ = cmd.Run() // it asks
	l := r.dial(t)
	if err := l.Call(t.Context(), "permd/session", map[string]any{"sessionId": "<b>s</b>", "cwd": r.project, "agent": map[string]any{"name": hostileTexts[0]}}, nil); err != nil {
		t.Fatal(err)
	}
	var made struct {
		Decisions []decisions.Decision `json:"decisions"`
	}
	if err := l.Call(t.Context(), "permd/decide", map[string]any{"sessionId": "<b>s</b>", "calls": []any{map[string]any{"callId": hostileTexts[1], "tool": map[string]any{"name": "t" + hostileTexts[0]}, "input": map[string]any{"x": hostileTexts[1]}, "claims": map[string]any{"title": hostileTexts[0] + hostileTexts[6]}}}}, &made); err != nil {
		t.Logf("the title is not taken: %v", err)
	}
	r.do("watching for what a page does", chromedp.Func(func(ctx context.Context, at *chromedp.Target) error {
		_, err := cdp.Call(ctx, at, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{
			Source: `window.seen = []; document.addEventListener("securitypolicyviolation", e => seen.push(e.violatedDirective + " " + e.blockedURI)); window.addEventListener("error", e => seen.push(e.message))`,
		})
		return err
	}))
	pages := r.pages()
	for _, rec := range r.records(t) {
		pages["decision "+rec.Decision.ID] = "decisions/" + rec.Decision.ID
	}
	pages["a filter"] = "decisions?agent=%22%3E%3Cimg%20src=x%20onerror=window.pwned=1%3E&path=%3Cscript%3Ewindow.pwned=1%3C/script%3E"
	pages["no time"] = "decisions?since=%3Cscript%3Ewindow.pwned=1%3C/script%3E"
	pages["rules that have"] = "rules?text=%22%3E%3Cimg%20src=x%20onerror=window.pwned=1%3E"
	shown := ""
	for name, path := range pages {
		r.page(path)
		found, err := chromedp.Run(r.Context, chromedp.Evaluate[string](`JSON.stringify([window.pwned || 0, seen, [...document.querySelectorAll("script, img, iframe, object, embed, svg[onload], [style], base, [onmouseover], [onerror], [hx-get]:not(#poll)")].map(e => e.outerHTML).filter(h => !/^<(script|img) [^>]*src="\/assets\//.test(h)), [...document.documentElement.outerHTML.matchAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069]/g)].map(m => m[0].codePointAt(0).toString(16))])`))
		if err != nil || found != "[0,[],[],[]]" {
			t.Errorf("%s: %v %s", name, err, found)
		}
		html, err := chromedp.Run(r.Context, chromedp.Evaluate[string]("document.documentElement.outerHTML"))
		if err != nil {
			t.Fatal(err)
		}
		shown += html
	}
	for _, want := range []string{"&lt;script&gt;window.pwned", `\u{202e}gnp`, `\u{1b}[31mred`, `\u{200b}zero`, "{{.Form}}"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no page shows %s", want)
		}
	}
}
