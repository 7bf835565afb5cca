package reviewweb

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/client"
)

// view is what all pages have.
type view struct {
	Title string
	Base  string // the folder of the pages
	Form  string // the token of forms
	Page  string // the one of the menu
	Now   state
	Watch string // what a watching page asks for
}

// pages are the templates.
type pages struct{ t *template.Template }

func parsePages() (*pages, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		// What others wrote is shown as the commands show it: secrets masked, and what hides
		// or turns text escaped. The template escapes the HTML.
		"show":   display.Display,
		"clip":   func(n int, text string) string { return cli.Clip(display.Display(text), n) },
		"when":   func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") },
		"clock":  func(t time.Time) string { return t.Local().Format("15:04:05") },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"took":   func(ns int64) string { return time.Duration(ns).Round(time.Microsecond).String() },
		"mark":   func(v decisions.Verdict) string { return cli.Marks[v] },
		"plural": func(n int, noun string) string { return cli.Plural(n, noun) },
		"short":  cli.Short,
		"author": account.AuthorInFull,
		"quote":  cli.QuoteAll,
		"source": sourceOf,
		// Lines are shown one by one.
		"lines": func(text string) string {
			var b strings.Builder
			for line := range strings.Lines(text) {
				b.WriteString(display.Display(strings.TrimSuffix(line, "\n")) + "\n")
			}
			return strings.TrimSuffix(b.String(), "\n")
		},
	}).ParseFS(assets, "assets/*.html")
	if err != nil {
		return nil, fmt.Errorf("reading the pages: %w", err)
	}
	return &pages{t}, nil
}

// view returns what all pages have, with the state that they show.
func (s *Server) view(now state, page, title string) view {
	return view{Title: title, Base: s.guard.base, Form: s.guard.form, Page: page, Now: now, Watch: "page=other"}
}

// render writes a page.
func (s *Server) render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	p, err := s.pages()
	if err == nil {
		err = p.t.ExecuteTemplate(&b, name, data)
	}
	if err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // nobody is there to be told
}

// refuse writes a page that says why there is no other.
func (s *Server) refuse(w http.ResponseWriter, no *refusal) {
	if no == served {
		return
	}
	s.render(w, no.status, "refused", struct {
		view
		Text string
	}{view{Title: no.Title}, no.Text})
}

// fail writes a page about an error, within the menu.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, v view, err error) {
	status, text := http.StatusInternalServerError, message(err)
	if errors.Is(err, client.ErrUnreachable) {
		status, text = http.StatusServiceUnavailable, "The daemon does not answer. Nothing is lost: this page can be loaded again when it runs."
	}
	s.result(w, r, status, outcome{view: v, Problem: text})
}

// message is an error in words.
func message(err error) string {
	text := err.Error()
	if hint := cli.HintOf(err, ""); hint != "" {
		text += " (" + hint + ")"
	}
	return text
}

// outcome is what became of a form.
type outcome struct {
	view
	ID      string // of the element whose place it takes, if any
	Problem string
	Done    string
	Details []string
	Undo    []string // changes that can be taken back
	Back    string   // a page
}

// result writes what became of a form: a part of a page if the page asks for that, otherwise a
// page.
func (s *Server) result(w http.ResponseWriter, r *http.Request, status int, o outcome) {
	if r.Header.Get("HX-Request") == "true" {
		// Parts with an error are shown in their place, too.
		s.render(w, http.StatusOK, "result", o)
		return
	}
	s.render(w, status, "outcome", o)
}
