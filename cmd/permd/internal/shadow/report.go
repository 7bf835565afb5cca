package shadow

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/differences"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/statefile"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/policy"
)

// Bounds of what is kept.
const (
	maxGroups   = 128
	maxExamples = 3   // of a group: the first and the latest two
	maxReasons  = 16  // why calls were not compared
	maxText     = 300 // characters of a rule or reason
	maxFile     = 1 << 20

	saveEvery  = 5 * time.Second
	retryAfter = time.Minute
	// forgetEvery is how often what is too old is dropped where nothing else changes the report.
	forgetEvery = time.Hour

	version = 1
)

// Report is what was found about the rules to try, since they are as they are. Its JSON form
// is stable.
type Report struct {
	Version int             `json:"version"`
	Folder  string          `json:"folder"`
	Bundle  string          `json:"bundle,omitzero"` // the revision, if they are of a bundle; Folder counts besides
	Layer   decisions.Layer `json:"layer"`           // whose place the rules would take
	Digest  string          `json:"digest,omitzero"`
	Rules   int             `json:"rules"`
	// Problem is why the rules are not those in the files, or there are none.
	Problem string `json:"problem,omitzero"`
	// Unused says what of the folder is not tried.
	Unused string `json:"unused,omitzero"`
	// NotKept is why the report could not be written to the disk.
	NotKept string `json:"notKept,omitzero"`

	Since       time.Time `json:"since"`
	Compared    int       `json:"compared"`
	Different   int       `json:"different"`
	NotCompared []Missed  `json:"notCompared"` // the most frequent first
	Groups      []*Group  `json:"groups"`      // the largest first
	// Ungrouped are those of Different that are in none of Groups.
	Ungrouped int `json:"ungrouped,omitzero"`
}

// Missed is calls that were not compared.
type Missed struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// Group is calls that would be decided otherwise in the same way.
type Group struct {
	From     decisions.Verdict `json:"from"`
	To       decisions.Verdict `json:"to"`
	Rule     string            `json:"rule"` // that would decide, or what would
	Was      string            `json:"was"`  // the rule that decided, or what did
	Count    int               `json:"count"`
	First    time.Time         `json:"first"`
	Last     time.Time         `json:"last"`
	Examples []Example         `json:"examples"` // the newest last
}

// Example is one call of several.
type Example struct {
	DecisionID string    `json:"decisionId"`
	Time       time.Time `json:"time"`
	Call       string    `json:"call"`
	Reason     string    `json:"reason"` // as it would be
}

// Totals are numbers of calls since the daemon started.
type Totals struct{ Same, Different, NotCompared int64 }

// Totals returns them.
func (c *Comparer) Totals() Totals {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	return c.totals
}

// Counters returns the numbers of calls since the rules to try are as they are, by the names under
// which they are reported to services.
func (c *Comparer) Counters() map[string]uint64 {
	r := c.Report()
	if r == nil {
		return nil
	}
	return map[string]uint64{
		"permd_shadow_compared": uint64(r.Compared), "permd_shadow_different": uint64(r.Different), "permd_shadow_not_compared": uint64(r.missed()),
	}
}

// Report returns the report, nil if there are no shadow rules.
func (c *Comparer) Report() *Report {
	st := c.o.Rules.ShadowStatus()
	if st == nil {
		return nil
	}
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.follow(st)
	c.forget()
	r := c.report
	r.NotCompared = slices.Clone(r.NotCompared)
	r.Groups = make([]*Group, len(c.report.Groups))
	for i, g := range c.report.Groups {
		copied := *g
		copied.Examples = slices.Clone(g.Examples)
		r.Groups[i] = &copied
	}
	c.mu.Lock()
	if n := c.missed; n > 0 {
		r.miss(n, tooMany)
	}
	c.mu.Unlock()
	slices.SortStableFunc(r.Groups, func(a, b *Group) int { return cmp.Compare(b.Count, a.Count) })
	slices.SortStableFunc(r.NotCompared, func(a, b Missed) int { return cmp.Compare(b.Count, a.Count) })
	return &r
}

// Summary returns the report without its groups.
func (c *Comparer) Summary() *Report {
	r := c.Report()
	if r != nil {
		r.Groups = nil
	}
	return r
}

// follow makes the report one about the rules to try as they are. Of other rules nothing is
// kept.
func (c *Comparer) follow(st *policy.LayerStatus) {
	r := &c.report
	folder := ""
	if len(st.Paths) > 0 {
		folder = st.Paths[0]
	}
	// Rules that have never been good since the start may be those of before.
	if r.Folder != folder || (r.Bundle == "") != (st.Bundle == "") || r.Layer != st.Layer || st.Digest != "" && r.Digest != st.Digest {
		*r = Report{Version: version, Folder: folder, Layer: st.Layer, Digest: st.Digest, Since: c.o.Now(), NotCompared: []Missed{}, Groups: []*Group{}, NotKept: r.NotKept}
		c.unsaved = true
	}
	r.Rules, r.Problem, r.Unused, r.Bundle = st.Rules(), st.Error, "", st.Bundle
	if st.Programs+st.Agents > 0 {
		r.Unused = "its descriptions of programs and agents: permd policy replay tries them"
	}
	if dir := c.o.Rules.ShadowDir(); r.Bundle != "" && dir != "" {
		r.Unused = strings.TrimPrefix(r.Unused+"; the folder "+dir+" of permd.toml, as long as the organisation has a bundle tried", "; ")
	}
}

// look takes in that the rules to try may have changed.
func (c *Comparer) look() {
	st := c.o.Rules.ShadowStatus()
	c.reporting.Lock()
	defer c.reporting.Unlock()
	problem := ""
	if st != nil {
		c.follow(st)
		problem = st.Error
	} else if c.report.Folder != "" && c.o.Rules.ShadowDir() == "" { // else they are read later
		c.report, c.unsaved = Report{}, true
	}
	if problem != "" && problem != c.problem {
		c.o.Log.Warn("rules to try cannot be used", "why", problem)
	}
	c.problem = problem
}

// count counts calls that were not compared.
func (c *Comparer) count(n int, why string) {
	if n == 0 {
		return
	}
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.totals.NotCompared += int64(n)
	c.report.miss(n, why)
	c.unsaved = true
}

func (r *Report) miss(n int, why string) {
	why = cli.Clip(why, maxText)
	for i := range r.NotCompared {
		if m := &r.NotCompared[i]; m.Why == why {
			m.Count += n
			return
		}
	}
	if len(r.NotCompared) >= maxReasons {
		r.NotCompared[maxReasons-1].Why = "other reasons"
		r.NotCompared[maxReasons-1].Count += n
		return
	}
	r.NotCompared = append(r.NotCompared, Missed{why, n})
}

// add counts a call that was compared; now is nil if nothing would differ.
func (c *Comparer) add(d *decisions.Decided, now *decisions.Decision) {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	r := &c.report
	r.Compared++
	c.unsaved = true
	if now == nil {
		c.totals.Same++
		return
	}
	c.totals.Different++
	r.Different++
	was := &decisions.Decision{ID: d.ID, Verdict: d.Verdict, Reason: d.Reason, Effects: d.Effects}
	g := &Group{
		From: d.Verdict, To: now.Verdict, First: d.Time,
		Rule: cli.Clip(differences.Rule(now, was), maxText), Was: cli.Clip(differences.Rule(was, now), maxText),
	}
	if i := slices.IndexFunc(r.Groups, func(o *Group) bool { return o.From == g.From && o.To == g.To && o.Rule == g.Rule && o.Was == g.Was }); i >= 0 {
		g = r.Groups[i]
	} else if len(r.Groups) < maxGroups {
		r.Groups = append(r.Groups, g)
		c.o.Log.Info("shadow rules would decide otherwise", "was", d.Verdict, "by", g.Was, "would_be", now.Verdict, "rule", g.Rule, "decision", d.ID)
	} else {
		r.Ungrouped++
		return
	}
	g.Count++
	g.Last = d.Time
	for len(g.Examples) >= maxExamples {
		g.Examples = slices.Delete(g.Examples, 1, 2) // the first stays
	}
	g.Examples = append(g.Examples, Example{
		d.ID, d.Time, records.Summary(&decisions.Record{Tool: d.Tool, Decision: *was}), cli.Clip(now.Reason, maxText),
	})
}

// load reads what was found before the start.
func (c *Comparer) load() {
	r, err := read(c.o.File)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.o.Log.Warn("the report on shadow rules cannot be read, and starts empty", "error", err)
			c.unsaved = true
		}
		return
	}
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.report = *r
	c.forget()
}

func read(path string) (*Report, error) {
	f, err := statefile.Open(path, uint32(os.Geteuid()))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	r, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// parse reads a report that was kept.
func parse(data []byte) (*Report, error) {
	r := new(Report)
	if err := strictjson.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if r.Version != version {
		return nil, errors.New("the report is of another version")
	}
	r.NotKept = ""
	r.Groups = slices.DeleteFunc(r.Groups, func(g *Group) bool { return g == nil })
	return r, nil
}

// forgetOld drops what is too old, and has that written.
func (c *Comparer) forgetOld() {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.forget()
}

// forget drops what is too old. It is called with reporting held.
func (c *Comparer) forget() {
	if c.o.MaxAge <= 0 {
		return
	}
	oldest := c.o.Now().Add(-c.o.MaxAge)
	groups := c.report.Groups[:0]
	for _, g := range c.report.Groups {
		n := len(g.Examples)
		g.Examples = slices.DeleteFunc(g.Examples, func(e Example) bool { return e.Time.Before(oldest) })
		c.unsaved = c.unsaved || len(g.Examples) != n
		if g.Last.Before(oldest) {
			c.report.Ungrouped += g.Count
			c.unsaved = true
			continue
		}
		groups = append(groups, g)
	}
	clear(c.report.Groups[len(groups):])
	c.report.Groups = groups
}

// nextSave returns what ends when the report is to be written, nil if it has not changed.
func (c *Comparer) nextSave() <-chan time.Time {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	switch {
	case !c.unsaved:
		return nil
	case c.failing:
		return time.After(retryAfter)
	}
	return time.After(saveEvery)
}

// save writes the report, if it has changed.
func (c *Comparer) save() {
	c.reporting.Lock()
	if !c.unsaved {
		c.reporting.Unlock()
		return
	}
	c.forget()
	report := c.report
	report.NotKept = ""
	data, err := json.Marshal(&report)
	c.unsaved = false
	c.reporting.Unlock()
	if err == nil {
		err = c.write(data, report.Folder != "")
	}
	c.reporting.Lock()
	defer c.reporting.Unlock()
	if err == nil {
		c.report.NotKept, c.failing = "", false
		return
	}
	c.unsaved = true
	if !c.failing {
		c.o.Log.Warn("the report on shadow rules cannot be written", "error", err)
	}
	c.report.NotKept, c.failing = cli.Clip(err.Error(), maxText), true
}

// write replaces the file, or removes it if there is nothing to keep. Where the data folder was
// moved away, nothing must take its place.
func (c *Comparer) write(data []byte, any bool) error {
	in, err := os.Stat(filepath.Dir(c.o.File))
	if err != nil {
		return err
	}
	if c.in == nil || !os.SameFile(c.in, in) {
		return errors.New("another folder is in the place of the data folder")
	}
	if !any {
		if err := os.Remove(c.o.File); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return statefile.Replace(c.o.File, data)
}
