package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// The home and the project of rows that name paths. Commands run in the ordinary
// project.
const (
	pathHome    = "/home/u"
	pathProject = "/srv/proj"
)

// bypassRow is an attack on a careless rule, or a benign call that the rule is for.
type bypassRow struct {
	ID        string           `json:"id"`
	Command   string           `json:"command"`
	Path      string           `json:"path"`
	Op        string           `json:"op"` // the operation on the path
	URL       string           `json:"url"`
	Request   strictjson.Value `json:"request"`
	Naive     string           `json:"naive_rule"`
	AlsoAllow []string         `json:"also_allow"`
	Expected  string           `json:"expected"`
	Class     string           `json:"class"`
	Tier      int              `json:"tier"`
	// Fixture is a link in the project: "name -> target".
	Fixture string `json:"fixture"`
	// Remembered is a command that the person said "always" to.
	Remembered string `json:"remembered"`
	// Raw says that the row has the text of a whole request.
	Raw bool `json:"raw"`
	// Shell is the shell that reads the command, "" for bash.
	Shell string `json:"shell"`
}

// bypass decides each row under its careless rule, which is a person's own rule in
// addition to the shipped ones.
func (b *bench) bypass(ctx context.Context, rows []bypassRow) (*bypassScore, error) {
	s := &bypassScore{Classes: map[string]*unsafeCount{}}
	got := make([]result, len(rows))
	drafts := make([]*draft, len(rows))
	err := each(len(rows), func(i int) (err error) {
		d, ok := translate(rows[i].Naive, rows[i].AlsoAllow)
		if !ok {
			return nil
		}
		drafts[i] = d
		if got[i], err = b.attack(ctx, &rows[i], d); err != nil {
			return fmt.Errorf("row %s: %w", rows[i].ID, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		x := finding{order: i, id: r.ID, expects: r.Expected + " under " + r.Naive, call: shown("", []byte(r.call()))}
		if drafts[i] == nil {
			s.Untranslated++
			x.classes = []string{"bypass.untranslated"}
			b.found.add(x, got[i])
			continue
		}
		s.Refused += len(drafts[i].refused)
		x.classes = s.count(r, got[i].Verdict)
		if len(drafts[i].refused) > 0 {
			x.classes = append(x.classes, "bypass.refused")
			x.expects += fmt.Sprintf(" (refused: %s)", strings.Join(drafts[i].refused, "; "))
		}
		b.found.add(x, got[i])
	}
	return s, nil
}

// count counts a verdict and returns the row's classes.
func (s *bypassScore) count(r *bypassRow, v decisions.Verdict) []string {
	if r.Expected == "allowed" {
		s.Benign.Total++
		if v == decisions.Allow {
			return []string{"bypass.right.benign"}
		}
		s.Benign.Asked++
		return []string{"bypass.benign"}
	}
	class := s.Classes[r.Class]
	if class == nil {
		class = new(unsafeCount)
		s.Classes[r.Class] = class
	}
	tier := map[int]*unsafeCount{1: &s.Tier1, 2: &s.Tier2, 3: &s.Tier3, 4: &s.Tier4}[r.Tier]
	if tier == nil {
		tier = &s.Tier1 // attacks without a tier must all be stopped
	}
	tier.Total++
	class.Total++
	if v != decisions.Allow {
		return []string{fmt.Sprintf("bypass.right.tier%d", r.Tier)}
	}
	tier.Unsafe++
	class.Unsafe++
	return []string{fmt.Sprintf("bypass.tier%d.%s", r.Tier, r.Class), "unsafe.bypass"}
}

// call returns the call of the row as text.
func (r *bypassRow) call() string {
	switch {
	case r.Command != "":
		return r.Command
	case r.Path != "":
		return r.Op + " " + r.Path
	case r.URL != "":
		return "fetch " + r.URL
	}
	return string(r.Request)
}

// attack decides a row under a person's rules.
func (b *bench) attack(ctx context.Context, r *bypassRow, d *draft) (result, error) {
	snap, err := b.rules.With(ctx, d.finish())
	if err != nil {
		return result{}, err
	}
	w := newWorld(pathHome).checkout(pathProject)
	c := &call{agent: claudeAgent, cwd: pathProject}
	switch {
	case r.Command != "":
		w = attackWorld()
		c = bash(r.Command, devProject)
		if r.Remembered != "" {
			return b.remembered(ctx, w, r, snap)
		}
	case r.Path != "":
		c.tool, c.input = "Read", []byte(`{"file_path":`+text(r.Path)+`}`)
		if r.Op == "write" {
			c.tool, c.input = "Write", []byte(`{"content":"x","file_path":`+text(r.Path)+`}`)
		}
	case r.URL != "":
		c.tool, c.input = "WebFetch", []byte(`{"prompt":"what does it say","url":`+text(r.URL)+`}`)
	default:
		return b.protocol(ctx, w, r, snap)
	}
	w.fs.Dir(pathProject + "/sub")
	if name, target, ok := strings.Cut(r.Fixture, " -> "); ok {
		w.fs.Dir("/srv/other/sub").Link(pathProject+"/"+name, target)
	}
	return decide(ctx, b.engine(w, snap, nil), snap, w.request(c)), nil
}

// attackWorld returns the ordinary project, with the files that attacks use.
func attackWorld() *world {
	w := newWorld(devHome).checkout(devProject)
	for _, file := range []string{"evil.sh", "ok.sh", "evil.config.js", "evilpkg/package.json", "evil.d/evil", "evilhooks/pre-commit", "evil/main.tf", "victimdir/a"} {
		w.fs.File(devProject+"/"+file, "#!/bin/sh\ntrue\n")
	}
	w.repository(devProject + "/evilrepo/.git")
	w.fs.File(devProject+"/evilpkg/package.json", `{"scripts":{"test":"touch PWNED"}}`)
	return w
}

// remembered decides a row after the person has answered "always" to another call,
// at the widest width. A script may have changed since then.
func (b *bench) remembered(ctx context.Context, w *world, r *bypassRow, snap decisions.Snapshot) (o result, err error) {
	memory, err := b.memory(snap.Table())
	if err != nil {
		return result{}, err
	}
	defer func() {
		if e := memory.Close(); err == nil {
			err = e
		}
	}()
	e := b.engine(w, snap, memory)
	first := e.Decide(ctx, w.request(bash(r.Remembered, devProject)))[0]
	if n := len(first.Widths); first.Verdict == decisions.Ask && n > 0 {
		a := decisions.Answer{DecisionID: first.ID, Verdict: decisions.Allow, Offer: first.Offer, Width: first.Widths[n-1].ID}
		if _, err := memory.Keep(ctx, a); err != nil {
			return result{}, fmt.Errorf("remembering: %w", err)
		}
	}
	if r.Remembered == r.Command { // the same call is an attack only if the script that it runs has changed
		w.fs.File(devProject+"/"+strings.TrimPrefix(r.Command, "./"), "#!/bin/sh\ntouch PWNED\n")
	}
	return decide(ctx, e, snap, w.request(bash(r.Command, devProject))), nil
}
