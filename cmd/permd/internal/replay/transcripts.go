package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
)

// maxLine bounds a line of a transcript, in bytes.
const maxLine = 16 << 20

// pastCall is a call of a transcript.
type pastCall struct {
	id    string
	tool  string
	input strictjson.Value
	cwd   string // "" if the line does not say
	time  time.Time
}

// Harness is a harness whose transcripts can be read.
type Harness struct {
	Name string
	// Dir is where its transcripts are.
	Dir string
	// agent is its name in the profiles of tools.
	agent string
	// read returns the calls of a line. state is that of the file.
	read func(line []byte, state *fileState) ([]pastCall, error)
}

// fileState is what earlier lines of a file have said.
type fileState struct{ session, cwd string }

// Harnesses returns the harnesses, with the folders of a home and an environment.
func Harnesses(home string, getenv func(string) string) []Harness {
	return []Harness{
		{"claude", filepath.Join(cmp.Or(getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude")), "projects"), "claude-code", readClaude},
		{"codex", filepath.Join(cmp.Or(getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "sessions"), "codex", readCodex},
	}
}

// TranscriptReport is what would have been decided of the calls of transcripts. Its JSON
// form is stable.
type TranscriptReport struct {
	Harness string `json:"harness"`
	Files   int    `json:"files"`
	Calls   int    `json:"calls"`
	Allow   int    `json:"allow"`
	Ask     int    `json:"ask"`
	Deny    int    `json:"deny"`
	// Damaged is the number of lines that cannot be read, Unopened that of files.
	Damaged  int        `json:"damaged"`
	Unopened int        `json:"unopened"`
	Tools    []*Counted `json:"tools"`  // calls by tool
	Asked    []*Counted `json:"asked"`  // the most frequent questions
	Denied   []*Counted `json:"denied"` // the most frequent denies
	Allowed  []*Counted `json:"allowed"`
}

// Counted is a group of calls.
type Counted struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitzero"`
	Allow  int    `json:"allow,omitzero"`
	Ask    int    `json:"ask,omitzero"`
	Deny   int    `json:"deny,omitzero"`
	Count  int    `json:"count"`
}

// transcripts decides the calls of transcripts.
type transcripts struct {
	*TranscriptReport
	harness Harness
	by      *decider
	seed    maphash.Seed
	seen    map[uint64]bool // ids of calls: a conversation that was resumed has them again
	groups  map[groupKey]*Counted
}

type groupKey struct {
	verdict decisions.Verdict // "" for tools
	name    string
}

// maxGroups bounds the groups that are counted, maxShown those that are shown of a kind.
const (
	maxGroups = 50_000
	maxShown  = 10
)

// Transcripts decides the calls of a harness's transcripts in dir, its own folder for "", by
// the rules on the disk. It prints no input of a call: only what records would have.
func Transcripts(ctx context.Context, s *cli.Streams, root string, h Harness, dir string) (*TranscriptReport, error) {
	dirs, err := account.Dirs(root)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		dir = h.Dir
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Failf(cli.ExitError, "name the folder of the transcripts", "there is no folder %s", dir)
	}
	by, err := newDecider(ctx, dirs, "", root != "")
	if err != nil {
		return nil, err
	}
	t := &transcripts{
		TranscriptReport: &TranscriptReport{Harness: h.Name, Tools: []*Counted{}, Asked: []*Counted{}, Denied: []*Counted{}, Allowed: []*Counted{}},
		harness:          h, by: by, seed: maphash.MakeSeed(), seen: map[uint64]bool{}, groups: map[groupKey]*Counted{},
	}
	var files []string
	var size int64
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			t.Unopened++
		case e.Type().IsRegular() && strings.HasSuffix(path, ".jsonl"):
			files = append(files, path)
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("looking for transcripts: %w", err)
	}
	p := cli.NewProgress(s.Err, "deciding")
	defer p.Close()
	var done int64
	for _, file := range files {
		err := t.file(ctx, file, func(n int) {
			done += int64(n)
			p.Set(done, size)
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			t.Unopened++
			continue
		}
		t.Files++
	}
	t.conclude()
	return t.TranscriptReport, nil
}

// file decides the calls of a file.
func (t *transcripts) file(ctx context.Context, file string, progress func(n int)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	state := &fileState{session: strings.TrimSuffix(filepath.Base(file), ".jsonl")}
	r := bufio.NewReaderSize(f, 1<<16)
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		progress(len(part))
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(long) <= maxLine {
				long = append(long, part...)
			}
			continue
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		if len(line) > maxLine {
			t.Damaged++
		} else if text := bytes.TrimSpace(line); len(text) > 0 {
			t.line(ctx, bytes.Clone(text), state)
		}
		long = long[:0]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
}

// line decides the calls of a line.
func (t *transcripts) line(ctx context.Context, line []byte, state *fileState) {
	calls, err := t.harness.read(line, state)
	if err != nil {
		t.Damaged++
	}
	for i := range calls {
		c := &calls[i]
		if c.id != "" {
			sum := maphash.String(t.seed, c.id)
			if t.seen[sum] {
				continue
			}
			t.seen[sum] = true
		}
		cwd := cmp.Or(c.cwd, state.cwd)
		if cwd = filepath.Clean(cwd); !filepath.IsAbs(cwd) {
			cwd = ""
		}
		req := &decisions.Request{
			Peer: decisions.Peer{UID: uint32(os.Geteuid())}, Session: decisions.SessionRef{ID: state.session},
			Call: effects.Call{
				ID: "1", Protocol: "permd", Tool: effects.Tool{Name: c.tool}, Input: c.input,
				Agent: effects.Party{Name: t.harness.agent}, Client: effects.Party{Name: "permd replay"}, Cwd: cwd,
			},
		}
		d, _ := t.by.decideIn(ctx, req, cmp.Or(c.time, time.Now()))
		t.count(c, d)
	}
}

// count counts a decision.
func (t *transcripts) count(c *pastCall, d *decisions.Decision) {
	t.Calls++
	tool := t.group(groupKey{"", display.Display(c.tool)}, "")
	tool.Count++
	switch d.Verdict {
	case decisions.Allow:
		t.Allow++
		tool.Allow++
	case decisions.Ask:
		t.Ask++
		tool.Ask++
	case decisions.Deny:
		t.Deny++
		tool.Deny++
	}
	t.group(groupKey{d.Verdict, nameOf(d)}, d.Reason).Count++
}

// nameOf says what was decided: the first effect with the verdict. If that comes from commands, these say
// more.
func nameOf(d *decisions.Decision) string {
	i := slices.IndexFunc(d.Effects, func(e decisions.EffectDecision) bool { return e.Verdict == d.Verdict })
	switch {
	case i < 0:
		return d.Reason
	case d.Effects[i].Kind == effects.KindRun:
		return d.Effects[i].Text
	}
	var runs []string
	for k := range d.Effects {
		if e := &d.Effects[k]; e.Kind == effects.KindRun && len(runs) < maxRuns {
			runs = append(runs, e.Text)
		}
	}
	if runs == nil {
		return d.Effects[i].Text
	}
	return strings.Join(runs, " + ")
}

// maxRuns is how many commands of a call are named.
const maxRuns = 4

// group returns the group of that name. Beyond the bound there is one for all others.
func (t *transcripts) group(key groupKey, reason string) *Counted {
	g := t.groups[key]
	if g == nil && len(t.groups) >= maxGroups {
		key.name, reason = "others", ""
		g = t.groups[key]
	}
	if g == nil {
		g = &Counted{Name: key.name, Reason: reason}
		t.groups[key] = g
	}
	return g
}

func (t *transcripts) conclude() {
	for key, g := range t.groups {
		list := map[decisions.Verdict]*[]*Counted{"": &t.Tools, decisions.Ask: &t.Asked, decisions.Deny: &t.Denied, decisions.Allow: &t.Allowed}[key.verdict]
		*list = append(*list, g)
	}
	for _, list := range []*[]*Counted{&t.Tools, &t.Asked, &t.Denied, &t.Allowed} {
		slices.SortFunc(*list, func(a, b *Counted) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
		*list = (*list)[:min(len(*list), maxShown)]
	}
}

// Print prints the report.
func (r *TranscriptReport) Print(s *cli.Streams) error {
	if s.JSON {
		return cli.PrintJSON(s.Out, r)
	}
	fmt.Fprintf(s.Out, "%s in %s of %s: %d allowed, %d asked, %d denied\n", cli.Plural(r.Calls, "call"), cli.Plural(r.Files, "transcript"), r.Harness, r.Allow, r.Ask, r.Deny)
	for _, part := range []struct {
		title string
		list  []*Counted
	}{{"asked most", r.Asked}, {"denied most", r.Denied}, {"allowed most", r.Allowed}} {
		if len(part.list) == 0 {
			continue
		}
		fmt.Fprintf(s.Out, "\n%s\n", part.title)
		t := cli.Table{Flexible: []int{1, 2}}
		for _, g := range part.list {
			t.Row(fmt.Sprintf("%7d", g.Count), cli.Clip(g.Name, 60), cli.Clip(display.Display(g.Reason), 60))
		}
		if err := t.Write(s.Out); err != nil {
			return err
		}
	}
	if r.Damaged > 0 {
		fmt.Fprintf(s.Err, "permd: %s could not be read\n", cli.Plural(r.Damaged, "line"))
	}
	if r.Unopened > 0 {
		fmt.Fprintf(s.Err, "permd: %s could not be opened\n", cli.Plural(r.Unopened, "file"))
	}
	return nil
}
