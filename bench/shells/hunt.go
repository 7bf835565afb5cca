//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/bench/shipped"
)

// hunter is the state that all workers share.
type hunter struct {
	o     *options
	dir   string
	stub  string
	rules *shipped.Rules
	gen   generator
	next  atomic.Uint64
	hash  maphash.Seed
	until time.Time

	mu    sync.Mutex
	seen  map[uint64]bool // texts that were run, by kind
	sum   summary
	found []*finding
	err   error
}

// hunt tries texts and prints what it found.
func hunt(ctx context.Context, out io.Writer, o *options) (err error) {
	if err := findShells(o.shells); err != nil {
		return err
	}
	if _, err := exec.LookPath("strace"); err != nil && o.traced > 0 {
		fmt.Fprintln(os.Stderr, "shells: missing: strace (nothing is run under it)")
		o.traced = 0
	}
	h := &hunter{o: o, hash: maphash.MakeSeed(), seen: map[uint64]bool{}, until: time.Now().Add(o.within), sum: newSummary()}
	h.gen.seed, h.gen.only = o.seed, o.family
	if h.gen.corpus, err = readCorpora(o.module, o.corpus); err != nil {
		return err
	}
	if h.gen.table, err = readTable(); err != nil {
		return err
	}
	if h.rules, err = openRules(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.rules.Close()) }()
	if h.dir, err = os.MkdirTemp("", "permd-shells-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(h.dir)) }()
	if err := os.Chmod(h.dir, 0o711); err != nil {
		return err
	}
	if h.stub, err = compileStub(ctx, h.dir); err != nil {
		return err
	}
	if err := confine(); err != nil {
		return err
	}
	if o.text != "" || o.only != 0 {
		return h.one(ctx, out)
	}
	if err := errors.Join(h.all(ctx), h.report(out)); err != nil {
		return err
	}
	if len(h.found) > 0 {
		return errDifferent
	}
	return nil
}

// all runs workers until enough texts have run.
func (h *hunter) all(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for i := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			if err := h.work(ctx, i); err != nil {
				h.mu.Lock()
				h.err = errors.Join(h.err, err)
				h.mu.Unlock()
				cancel()
			}
		})
	}
	stopped := make(chan struct{})
	go func() { wg.Wait(); close(stopped) }()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.progress()
		case <-stopped:
			return h.err
		}
	}
}

// worker tries texts, one at a time.
type worker struct {
	*hunter
	judge *judge
	boxes map[string]*sandbox // by tree, and whether the programs are real ones
	dir   string
}

func (h *hunter) worker(ctx context.Context, i int) (*worker, error) {
	j, err := newJudge(ctx, h.rules)
	if err != nil {
		return nil, err
	}
	w := &worker{hunter: h, judge: j, boxes: map[string]*sandbox{}, dir: filepath.Join(h.dir, fmt.Sprintf("w%d", i))}
	return w, os.Mkdir(w.dir, 0o755)
}

func (w *worker) close() {
	for _, s := range w.boxes {
		s.close()
	}
}

// box returns the sandbox for a text.
func (w *worker) box(t *trial) (*sandbox, error) {
	name, fill := trees[t.tree].name, w.stubs
	if t.strace {
		name, fill = name+"-real", w.programs
	}
	if s := w.boxes[name]; s != nil {
		return s, nil
	}
	s, err := newSandbox(filepath.Join(w.dir, name), &trees[t.tree], fill)
	if err != nil {
		return nil, fmt.Errorf("making a sandbox: %w", err)
	}
	w.boxes[name] = s
	return s, nil
}

// work tries texts until enough have run.
func (h *hunter) work(ctx context.Context, i int) error {
	w, err := h.worker(ctx, i)
	if err != nil {
		return err
	}
	defer w.close()
	for ctx.Err() == nil && time.Now().Before(h.until) {
		n := h.next.Add(1)
		strace, more := h.wants()
		if !more {
			return nil
		}
		t := h.gen.trial(n, strace)
		v := w.judge.decide(ctx, t)
		if !h.count(t, &v) {
			continue
		}
		diffs, seen, err := w.try(ctx, t, &v)
		if err != nil {
			return fmt.Errorf("text %d of seed %d: %w", n, h.o.seed, err)
		}
		if len(seen) > 0 {
			h.ran(t, seen)
		}
		if len(diffs) > 0 {
			f := &finding{Seed: h.o.seed, Number: n, Text: t.text, trial: t, class: classOf(diffs)}
			if h.more(f) {
				continue
			}
			if h.o.small {
				if err := w.minimise(ctx, f, diffs); err != nil {
					return err
				}
			} else {
				f.set(t, &v, diffs)
			}
			h.add(f)
		}
	}
	return nil // an interrupt prints what was found so far
}

// wants reports whether to try another text, and whether under strace.
func (h *hunter) wants() (strace, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.found) >= h.o.max {
		return false, false
	}
	if h.sum.Run < h.o.allowed {
		return false, true
	}
	return true, h.sum.Traced < h.o.traced
}

// count counts a text, and reports whether to run it: it is allowed and has not run
// before.
func (h *hunter) count(t *trial, v *verdict) bool {
	sum := maphash.String(h.hash, fmt.Sprint(t.strace, t.agent.name, t.tree, t.person, "\x00", t.text))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sum.made(t, v)
	if !v.allowed {
		return false
	}
	if h.seen[sum] {
		h.sum.Again++
		return false
	}
	h.seen[sum] = true
	return true
}

func (h *hunter) ran(t *trial, seen []*observed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sum.ran(t, seen)
}

// maxSimilar is how many differences of one class are shown. The others are only
// counted.
const maxSimilar = 3

// more counts a difference if enough of its class have been shown, and reports
// whether it did.
func (h *hunter) more(f *finding) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	var alike []*finding
	for _, other := range h.found {
		if other.class == f.class {
			alike = append(alike, other)
		}
	}
	if len(alike) < maxSimilar {
		return false
	}
	alike[0].Times++
	return true
}

// classOf returns the class of some differences, by which they are counted.
func classOf(diffs []difference) string {
	var all []string
	for _, d := range diffs {
		if c := d.kind + " " + d.class; !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func (h *hunter) add(f *finding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, other := range h.found {
		if other.Small == f.Small {
			other.Times++
			return
		}
	}
	f.Times = 1
	h.found = append(h.found, f)
	fmt.Fprintf(os.Stderr, "shells: difference %d: %q: %s\n", len(h.found), f.Small, f.Differences)
}

// try runs a text in each shell that it may have, and compares.
func (w *worker) try(ctx context.Context, t *trial, v *verdict) ([]difference, []*observed, error) {
	box, err := w.box(t)
	if err != nil {
		return nil, nil, err
	}
	var diffs []difference
	var all []*observed
	for _, shell := range t.shells() {
		var o *observed
		if t.strace {
			o, err = box.trace(ctx, shell, t.text)
		} else {
			o, err = box.run(ctx, shell, t.text)
		}
		if err != nil {
			return nil, nil, err
		}
		all = append(all, o)
		diffs = append(diffs, compare(v, o)...)
	}
	return diffs, all, nil
}

// shells returns the shells that a text runs in: all that may read it, or one of
// them under strace, which is slow.
func (t *trial) shells() []string {
	there := slices.DeleteFunc(slices.Clone(t.agent.shells), func(name string) bool { return shellPath[name] == "" })
	if !t.strace || len(there) == 0 {
		return there
	}
	n := 0
	for i := range len(t.text) {
		n += int(t.text[i])
	}
	return []string{there[n%len(there)]}
}

// one tries one text and prints all that it did.
func (h *hunter) one(ctx context.Context, out io.Writer) error {
	w, err := h.worker(ctx, 0)
	if err != nil {
		return err
	}
	defer w.close()
	strace := h.o.traced > 0 && h.o.allowed == 0
	t := h.gen.trial(h.o.only, strace)
	if h.o.text != "" {
		t = &trial{text: h.o.text, family: "given", agent: &agents[0]}
		if i := slices.IndexFunc(agents, func(a agent) bool { return a.name == h.o.agent }); i >= 0 {
			t.agent = &agents[i]
		}
		t.tree = max(0, slices.IndexFunc(trees, func(t tree) bool { return t.name == h.o.tree }))
	}
	t.strace = strace
	v := w.judge.decide(ctx, t)
	fmt.Fprintf(out, "%s\n-- %s, agent %q, rules %q, tree %q\nallowed %v (%s)\n", t.text, t.family, t.agent.name, persons[t.person].name, trees[t.tree].name, v.allowed, v.by)
	for _, line := range v.shown() {
		fmt.Fprintln(out, "  "+line)
	}
	diffs, seen, err := w.try(ctx, t, &v)
	if err != nil {
		return err
	}
	for _, o := range seen {
		o.print(out)
	}
	for _, d := range diffs {
		fmt.Fprintln(out, "DIFFERENT", d.shell, d.kind, d.what)
	}
	if len(diffs) > 0 && v.allowed {
		return errDifferent
	}
	return nil
}
