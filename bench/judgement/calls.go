package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/remember"
)

// callRow is a call that an agent made.
type callRow struct {
	ID         string           `json:"id"`
	Tool       string           `json:"tool"`
	NativeTool string           `json:"native_tool"`
	Input      strictjson.Value `json:"input"`
	Cwd        string           `json:"cwd"`
	Agent      string           `json:"agent"`
	Source     string           `json:"source"` // repository:…
	Command    string           `json:"command"`

	order  int
	folder string // that of the session, for a call without one of its own
}

// repository returns the label of the repository in which the call was made.
func (r *callRow) repository() string {
	repo, _, _ := strings.Cut(r.Source, ":")
	return repo
}

// call returns the call as the agent sends it, with the agent's name for the tool.
// For tools of servers the corpus has the full name in the other member.
func (r *callRow) call() *call {
	tool := cmp.Or(r.NativeTool, r.Tool)
	if strings.HasPrefix(r.Tool, "mcp__") {
		tool = r.Tool
	}
	return &call{tool: tool, agent: r.Agent, input: r.Input, cwd: cmp.Or(r.Cwd, r.folder)}
}

// cutPatch matches a patch of which the corpus has only the beginning: it shortens
// long texts, so what the call does is lost.
var cutPatch = regexp.MustCompile(`\*\*\* Begin Patch.*…\[cut \d+\]`)

// group returns what a row is measured with: those of its repository with a folder, or without.
func (r *callRow) group() string {
	if r.place() == "no_cwd" {
		return r.repository() + " without folders"
	}
	return r.repository()
}

// cut reports whether the row is a patch of which the corpus has only the beginning.
func (r *callRow) cut() bool { return r.place() == "project" && cutPatch.Match(r.Input) }

// place returns where a row is counted: with its repository, or with those without
// a folder or of Windows.
func (r *callRow) place() string {
	switch {
	case strings.HasPrefix(r.Cwd, "/"):
		return "project"
	case r.Cwd == "":
		return "no_cwd"
	}
	return "windows"
}

// shellText reports whether a row is a command.
func (r *callRow) shellText() bool { return r.Command != "" }

// both has the decisions of a row, without memory and with it.
type both [2]result

// calls measures the calls that agents made: each by itself, and each repository's
// calls in order with a person who answers every question with "always", at the
// second width that is offered.
//
// Calls whose folder the corpus does not have are a group of their own for each
// repository: they are decided in the folder that a client would have declared for
// their session, as permd decides calls that name none. The corpus does not say which it
// was, so no other number has them.
func (b *bench) calls(ctx context.Context, rows []callRow) (*callsScore, error) {
	var repos []string
	byRepo := map[string][]int{}
	for i := range rows {
		rows[i].order = i
		repo := rows[i].group()
		if byRepo[repo] == nil {
			repos = append(repos, repo)
		}
		byRepo[repo] = append(byRepo[repo], i)
	}
	got := make([]both, len(rows))
	err := each(len(repos), func(n int) error {
		var mine []*callRow
		for _, i := range byRepo[repos[n]] {
			mine = append(mine, &rows[i])
		}
		return b.repository(ctx, mine, got)
	})
	if err != nil {
		return nil, err
	}
	return b.scoreCalls(rows, repos, got), nil
}

// sessionFolder returns the folder that a client would have declared for calls of one
// repository that name none: the checkout that is named in one of them, else that of the
// corpora's person.
func sessionFolder(rows []*callRow) string {
	_, name, _ := strings.Cut(rows[0].repository(), "/")
	checkout := regexp.MustCompile(`/home/dev(?:/[\w.-]+)*?/` + regexp.QuoteMeta(name) + `\b`)
	for _, r := range rows {
		if found := checkout.Find(r.Input); found != nil {
			return string(found)
		}
	}
	return devProject
}

// declareFolder gives the rows of a group the folder of their session if they name none.
func declareFolder(rows []*callRow) {
	if rows[0].place() != "no_cwd" {
		return
	}
	folder := sessionFolder(rows)
	for _, r := range rows {
		r.folder = folder
	}
}

// repository measures the calls of one repository, or those of it that have no folder.
func (b *bench) repository(ctx context.Context, rows []*callRow, got []both) (err error) {
	declareFolder(rows)
	w := b.repositoryWorld(rows)
	memory, err := b.memory(b.shipped.Table())
	if err != nil {
		return err
	}
	defer func() {
		if e := memory.Close(); err == nil {
			err = e
		}
	}()
	plain, remembering := b.engine(w, b.shipped, nil), b.engine(w, b.shipped, memory)
	for _, r := range rows {
		req := w.request(r.call())
		got[r.order][0] = decide(ctx, plain, b.shipped, req)
		with := decide(ctx, remembering, b.shipped, req)
		got[r.order][1] = with
		if err := always(ctx, memory, with.Decision); err != nil {
			return fmt.Errorf("row %s: %w", r.ID, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// always answers a question with "always", at the second width if there is one.
func always(ctx context.Context, memory *remember.Store, d *decisions.Decision) error {
	if d.Verdict != decisions.Ask || len(d.Widths) == 0 {
		return nil
	}
	_, err := memory.Keep(ctx, decisions.Answer{
		DecisionID: d.ID, Verdict: decisions.Allow, Offer: d.Offer, Width: d.Widths[min(1, len(d.Widths)-1)].ID,
	})
	return err
}

// repositoryWorld returns a machine with the checkout and the worktrees that the
// calls were made in. A folder below another is part of that checkout unless its
// path shows that it is a worktree. The shortest folder is the main checkout, or is
// in a worktree of it.
func (b *bench) repositoryWorld(rows []*callRow) *world {
	w := newWorld(devHome)
	var folders []string
	for _, r := range rows {
		if cwd := r.call().cwd; r.place() != "windows" && !slices.Contains(folders, cwd) {
			folders = append(folders, cwd)
		}
	}
	slices.SortFunc(folders, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	var roots []string // folders of the checkout and its worktrees
	for _, folder := range folders {
		if len(roots) == 0 {
			roots = append(roots, mainOf(folder))
			w.checkout(roots[0])
		}
		in := ""
		for _, root := range roots {
			if within(folder, root) && len(root) > len(in) {
				in = root
			}
		}
		if in == "" || mainOf(folder[len(in):]) != folder[len(in):] {
			roots = append(roots, folder)
			w.worktree(folder, roots[0])
			continue
		}
		w.folder(folder)
	}
	look := tools.World{FS: w.fs, Own: w.own(), Table: b.shipped.Table(), Profiles: b.shipped.Profiles()}
	for _, r := range rows {
		if r.place() != "windows" {
			req := w.request(r.call())
			w.provide(look.Effects(&req.Call).Effects, req.Call.Cwd, roots[0])
		}
	}
	return w
}

// mainOf returns the checkout that a folder belongs to, as far as its path shows.
func mainOf(folder string) string {
	for _, between := range []string{"/.worktrees/", "/.claude/worktrees/"} {
		if before, _, ok := strings.Cut(folder, between); ok {
			return before
		}
	}
	return folder
}

// scoreCalls sums up the decisions.
func (b *bench) scoreCalls(rows []callRow, repos []string, got []both) *callsScore {
	s := &callsScore{ByAgent: map[string]*modes{}, ByTool: map[string]*modes{}}
	perRepo := map[string]*modes{}
	var whole modes
	size := map[string]int{}
	for i := range rows {
		if rows[i].place() == "project" {
			size[rows[i].repository()]++
		}
	}
	s.Repositories = len(size)
	asked := [2]causes{{}, {}}
	programs, mysteries := causes{}, causes{}
	for i := range rows {
		r := &rows[i]
		apart := map[string]**modes{"no_cwd": &s.NoCwd, "windows": &s.Windows}[r.place()]
		b.noteCall(r, &got[i])
		if apart != nil {
			if *apart == nil {
				*apart = new(modes)
			}
			(*apart).count(&got[i])
			continue
		}
		if r.cut() {
			if s.Cut == nil {
				s.Cut = new(modes)
			}
			s.Cut.count(&got[i])
		}
		whole.count(&got[i])
		for _, m := range []*modes{entry(perRepo, r.repository()), entry(s.ByAgent, r.Agent), entry(s.ByTool, toolClass(r))} {
			m.count(&got[i])
		}
		weight := 1 / float64(size[r.repository()]) / float64(s.Repositories)
		for mode := range got[i] {
			if o := &got[i][mode]; o.Verdict != decisions.Allow {
				list := o.asks()
				for _, x := range list {
					asked[mode].add(x, len(list) == 1, weight)
				}
			}
		}
		if r.shellText() {
			s.Unknown.count(&got[i][0], programs, mysteries, weight)
		}
	}
	s.Memoryless, s.WithMemory = whole.Memoryless, whole.WithMemory
	s.Memoryless.PromptRate, s.WithMemory.PromptRate = 0, 0
	for _, repo := range repos {
		if m := perRepo[repo]; m != nil {
			m.finish()
			s.ByRepository = append(s.ByRepository, m)
			s.Memoryless.PromptRate += m.Memoryless.share() / float64(s.Repositories)
			s.WithMemory.PromptRate += m.WithMemory.share() / float64(s.Repositories)
		}
	}
	s.Memoryless.PromptRate, s.WithMemory.PromptRate = round(s.Memoryless.PromptRate), round(s.WithMemory.PromptRate)
	for _, group := range []map[string]*modes{s.ByAgent, s.ByTool} {
		for _, m := range group {
			m.finish()
		}
	}
	for _, m := range []*modes{s.NoCwd, s.Windows, s.Cut} {
		if m != nil {
			m.finish()
		}
	}
	s.asked = [2][]cause{asked[0].sorted(), asked[1].sorted()}
	s.Unknown.programs, s.Unknown.why = programs.sorted(), mysteries.sorted()
	return s
}

func sampleOf(r *callRow) []byte {
	if r.Command != "" {
		return []byte(r.Command)
	}
	return r.Input
}

// noteCall notes the row for -failures.
func (b *bench) noteCall(r *callRow, got *both) {
	for mode, name := range []string{"calls", "memory"} {
		o := got[mode]
		class := name + "." + string(o.Verdict)
		if place := r.place(); place != "project" {
			class = name + "." + place + "." + string(o.Verdict)
		}
		classes := []string{class}
		if mode == 0 {
			if program, effect := o.unknown(); program || effect {
				classes = append(classes, "calls.unknown")
			}
		}
		b.found.add(finding{
			classes: classes, order: r.order, id: r.ID, expects: r.Agent + " in " + r.Cwd, call: shown(r.Tool, sampleOf(r)),
		}, o)
	}
}

// toolClass returns the class of a tool: its name, or "mcp" for tools of servers.
func toolClass(r *callRow) string {
	if strings.HasPrefix(r.Tool, "mcp__") {
		return "mcp"
	}
	return r.Tool
}

func entry(m map[string]*modes, key string) *modes {
	if m[key] == nil {
		m[key] = new(modes)
	}
	return m[key]
}

func (m *modes) count(got *both) {
	m.Memoryless.count(got[0].Verdict)
	m.WithMemory.count(got[1].Verdict)
}

func (m *modes) finish() {
	m.Memoryless.finish()
	m.WithMemory.finish()
}

func (r *rates) count(v decisions.Verdict) {
	switch v {
	case decisions.Allow:
		r.Allow++
	case decisions.Deny:
		r.Deny++
	default:
		r.Ask++
	}
}

func (r *rates) finish() { r.PromptRate = round(r.share()) }

// share returns the share of calls that were asked.
func (r *rates) share() float64 { return float64(r.Ask) / float64(max(1, r.Allow+r.Ask+r.Deny)) }

// round keeps four decimal places, so that scores can be compared.
func round(x float64) float64 { return float64(int(x*10000+0.5)) / 10000 }

func (u *unknownScore) count(o *result, programs, mysteries causes, weight float64) {
	u.Commands++
	program, effect := o.unknown()
	if program {
		u.Programs++
	}
	if effect {
		u.Effects++
	}
	if constructs := o.notPlain(); len(constructs) > 0 {
		u.notPlain++
		if u.constructs == nil {
			u.constructs = map[string]int{}
		}
		for _, c := range constructs {
			u.constructs[c]++
		}
	}
	for _, x := range o.programs() {
		programs.add(x, false, weight)
	}
	for _, x := range o.mysteries() {
		mysteries.add(x, false, weight)
	}
}
