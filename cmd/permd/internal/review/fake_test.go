package review

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/testload"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	testload.Rapid()
	os.Exit(m.Run())
}

// start is when the tests begin.
var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// fake is a daemon in memory, which takes only the methods that the page may call.
type fake struct {
	now       time.Time
	off       bool
	questions []admin.Question
	records   []*decisions.Record // the oldest first
	choices   []admin.Choice
	forgot    []admin.Choice
	calls     []string // methods that change something, with their params
	previews  int      // how many were asked for
	status    daemon.Status
	refuse    map[string]error
}

func (f *fake) Call(method string, params, result any) error {
	if f.off {
		return fmt.Errorf("%w: nothing listens", client.ErrUnreachable)
	}
	if err := f.refuse[method]; err != nil {
		return err
	}
	sent, err := json.Marshal(params, json.Deterministic(true))
	if err != nil {
		return err
	}
	out, err := f.answer(method, sent)
	if err != nil {
		return err
	}
	b, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return strictjson.Unmarshal(b, result)
}

func (f *fake) answer(method string, sent []byte) (any, error) {
	read := func(v any) {
		if err := strictjson.Unmarshal(sent, v); err != nil {
			panic(err)
		}
	}
	switch method {
	case admin.MethodStatus:
		return f.status, nil
	case admin.MethodQuestionsList:
		return admin.Questions{Questions: append([]admin.Question{}, f.questions...)}, nil
	case admin.MethodQuestionsAllow, admin.MethodQuestionsDeny:
		f.calls = append(f.calls, strings.TrimPrefix(method, "permd/")+" "+string(sent))
		var a admin.Approval
		read(&a)
		i := slices.IndexFunc(f.questions, func(q admin.Question) bool { return q.DecisionID == a.DecisionID })
		if i < 0 {
			return nil, &client.Error{Code: admin.CodeNoDecision, Message: "no question of that id waits"}
		}
		q := f.questions[i]
		f.questions = slices.Delete(slices.Clone(f.questions), i, i+1)
		if method == admin.MethodQuestionsDeny {
			done := admin.Denied{DecisionID: a.DecisionID}
			if a.Width != "" {
				w := q.RejectWidths[slices.IndexFunc(q.RejectWidths, func(w decisions.Width) bool { return w.ID == a.Width })]
				done.Stored = []decisions.StoredChoice{{ID: "kept", Verdict: "deny", Label: w.Label, Scope: cmp.Or(a.Scope, w.Scope)}}
				done.Undo = []string{"change3"}
			}
			return done, nil
		}
		done := admin.Approved{Told: true, Stored: []decisions.StoredChoice{}}
		if a.Width != "" {
			w := q.Widths[slices.IndexFunc(q.Widths, func(w decisions.Width) bool { return w.ID == a.Width })]
			done.Stored = append(done.Stored, decisions.StoredChoice{ID: "kept", Verdict: "allow", Label: w.Rule, Scope: cmp.Or(a.Scope, w.Scope)})
			done.Undo = []string{"change1"}
		}
		return done, nil
	case admin.MethodShow:
		var p struct {
			ID string `json:"decisionId"`
		}
		read(&p)
		for _, rec := range f.records {
			if rec.Decision.ID == p.ID {
				return rec, nil
			}
		}
		return nil, &client.Error{Code: admin.CodeNoDecision, Message: "no decision of that id"}
	case admin.MethodList, admin.MethodFollow:
		var r decisions.RecordFilter
		read(&r)
		return f.page(r), nil
	case admin.MethodChoicesPreview:
		var p admin.PreviewParams
		read(&p)
		return f.preview(&p)
	case admin.MethodTally:
		return admin.Tallies{Groups: []tally.Group{{By: tally.Verdict, Name: "allow", Allow: 5}, {By: tally.DecidedBy, Name: "policy", Allow: 5}}}, nil
	case rulecost.Method:
		cost := func(layer decisions.Layer, id, title, at string, set decisions.Set, share float64, matched int) *rulecost.Rule {
			return &rulecost.Rule{
				RuleInfo: rules.RuleInfo{ID: id, Title: title, Layer: layer, Set: set, At: at},
				Share:    share, Evaluations: 150, Matched: matched, P50NS: int64(1200 * share), P99NS: int64(90000 * share),
			}
		}
		return rulecost.State{Made: start, Report: &rulecost.Report{Calls: 150, TookNS: 1_000_000, Rules: []*rulecost.Rule{
			cost("org", "slow", "Slow "+hostile, "/etc/permd/policy.d/slow.rego:7", "deny", 0.91, 0),
			cost("user", "rule.allow", "Rule that says allow", "rules.yaml:3", "allow", 0.085, 75),
			cost("base", "quick", "Never shown", "base/x.rego:1", "ask", 0.005, 0),
		}}}, nil
	}
	return f.memory(method, sent, read)
}

func (f *fake) page(r decisions.RecordFilter) admin.Records {
	var all []*decisions.Record
	for _, rec := range f.records {
		if rec.Seq > r.After && (r.Before == 0 || rec.Seq < r.Before) && (r.Verdict == "" || r.Verdict == rec.Decision.Verdict) {
			all = append(all, rec)
		}
	}
	out := admin.Records{Records: append([]*decisions.Record{}, all...)}
	if len(all) > r.Limit {
		if out.Records = all[len(all)-r.Limit:]; r.After > 0 {
			out.Records = all[:r.Limit]
		}
		out.Next = out.Records[0].Seq
	}
	return out
}

func (f *fake) memory(method string, sent []byte, read func(any)) (any, error) {
	var ids struct {
		IDs   []string `json:"choiceIds"`
		After string   `json:"after"`
		Limit int      `json:"limit"`
		admin.Undo
		Scope string `json:"scope"`
	}
	find := func() int {
		return slices.IndexFunc(f.choices, func(c admin.Choice) bool { return c.ID == ids.IDs[0] })
	}
	missing := &client.Error{Code: admin.CodeNoChoice, Message: "no choice of that id"}
	if method != admin.MethodChoicesList && method != admin.MethodChoicesShow {
		f.calls = append(f.calls, strings.TrimPrefix(method, "permd/")+" "+string(sent))
	}
	switch method {
	case admin.MethodChoicesList:
		read(&ids)
		from := slices.IndexFunc(f.choices, func(c admin.Choice) bool { return c.ID == ids.After }) + 1
		rest := f.choices[from:]
		if len(rest) > ids.Limit {
			return admin.Choices{Choices: rest[:ids.Limit], Next: rest[ids.Limit-1].ID}, nil
		}
		return admin.Choices{Choices: append([]admin.Choice{}, rest...)}, nil
	case admin.MethodChoicesShow:
		read(&ids)
		if i := find(); i >= 0 {
			return admin.Choices{Choices: f.choices[i : i+1]}, nil
		}
		return nil, missing
	case admin.MethodChoicesForget:
		read(&ids)
		i := find()
		if i < 0 {
			return nil, missing
		}
		f.forgot = append(f.forgot, f.choices[i])
		f.choices = slices.Delete(slices.Clone(f.choices), i, i+1)
		return admin.Choices{Choices: f.forgot[len(f.forgot)-1:], Undo: []string{"change2"}}, nil
	case admin.MethodChoicesUndo:
		restored := []admin.PastChoice{}
		for _, c := range f.forgot {
			restored = append(restored, admin.PastChoice{Choice: c})
			f.choices = append(f.choices, c)
		}
		f.forgot = nil
		return admin.Undone{ID: "undo1", ChangeID: "change2", What: "forget", Time: start, Ended: []admin.PastChoice{}, Restored: restored}, nil
	case admin.MethodChoicesChange:
		var c admin.ChangedChoices
		read(&c)
		ids.IDs = c.IDs
		i := find()
		if i < 0 {
			return nil, missing
		}
		f.choices = slices.Clone(f.choices)
		f.choices[i].ID += "x"
		f.choices[i].Rule = cmp.Or(c.Line, f.choices[i].Rule)
		if c.Scope != "" {
			f.choices[i].Scope, f.choices[i].Of = c.Scope, ""
		}
		return admin.Choices{Choices: f.choices[i : i+1], Undo: []string{"change4"}}, nil
	}
	panic("the page calls " + method)
}

// preview counts one request for each letter of a line.
func (f *fake) preview(p *admin.PreviewParams) (any, error) {
	f.previews++
	list := []admin.Preview{}
	add := func(id, width, line, scope string, c admin.Choice) {
		c.Kind, c.Rule, c.Scope = "run", line, scope
		list = append(list, admin.Preview{DecisionID: id, Width: width, Choices: []admin.Choice{c}, Matched: len(line), Requests: 100, Denied: len(scope), Unknown: 2})
	}
	for _, id := range p.DecisionIDs {
		i := slices.IndexFunc(f.questions, func(q admin.Question) bool { return q.DecisionID == id })
		if i < 0 {
			return nil, &client.Error{Code: admin.CodeNoDecision, Message: "no question of that id waits"}
		}
		widths := f.questions[i].Widths
		if p.Verdict == decisions.Deny {
			widths = f.questions[i].RejectWidths
		}
		for _, w := range widths {
			add(id, w.ID, w.Rule, cmp.Or(p.Scope, w.Scope, "user"), admin.Choice{Verdict: p.Verdict})
		}
	}
	if p.Change != nil {
		i := slices.IndexFunc(f.choices, func(c admin.Choice) bool { return c.ID == p.Change.IDs[0] })
		if i < 0 {
			return nil, &client.Error{Code: admin.CodeNoChoice, Message: "no choice of that id"}
		}
		add("", "", cmp.Or(p.Change.Line, f.choices[i].Rule), cmp.Or(p.Change.Scope, f.choices[i].Scope), f.choices[i])
	}
	return admin.Previews{Previews: list}, nil
}

func (f *fake) Explain(id string) (string, error) {
	if f.off {
		return "", fmt.Errorf("%w: nothing listens", client.ErrUnreachable)
	}
	return "ask: nothing spoke\n  decision " + id + "\n\n? run it\n    from     input.command\n", nil
}

// question is a question in the daemon's list.
func questionOf(name string, until time.Duration) admin.Question {
	return admin.Question{
		DecisionID: "id-" + name, Harness: "claude", Session: "s", Tool: "Bash", Cwd: "/work/project", Asked: start, Until: start.Add(until),
		Reason: "runs a program that permd does not know", Effects: []string{"run " + name, "read ./" + name},
		Widths: []decisions.Width{
			{ID: "w1", Label: "exactly this", Rule: "run " + name + "\nread ./" + name, Scope: "project"},
			{ID: "w2", Label: "any `" + name + "`", Rule: "run " + name + " *"},
		},
		RejectWidths: []decisions.Width{
			{ID: "r1", Label: "run " + name + "\nread ./" + name, Rule: "run " + name + "\nread ./" + name, Scope: "project"},
			{ID: "r2", Label: "run " + name + " *", Rule: "run " + name + " *", Scope: "project"},
		},
	}
}

func recordOf(seq int64, v decisions.Verdict, what string) *decisions.Record {
	r := &decisions.Record{Seq: seq, Time: start.Add(time.Duration(seq) * time.Second), Tool: "Bash", Project: "/work/project", Agent: effects.Party{Name: "claude"}}
	r.Decision = decisions.Decision{ID: fmt.Sprintf("d%d", seq), Verdict: v, Reason: "a reason", By: "policy", Effects: []decisions.EffectDecision{
		{Kind: "run", Text: "run " + what, Verdict: v, Reason: "a reason", Row: 10, Rules: []decisions.RuleRef{{ID: "rule." + string(v), Title: "Rule that says " + string(v), At: "rules.yaml:3", Layer: decisions.User}}},
	}}
	return r
}

func choiceOf(id, rule string) admin.Choice {
	return admin.Choice{ID: id, Verdict: "allow", Kind: "run", Rule: rule, Scope: "project", Of: "/work/project", Created: start.AddDate(0, 0, -3), Matches: 3, BoundTo: "package.json"}
}

// driver runs a page without a terminal: it runs the commands and hands their messages back.
type driver struct {
	m     *Model
	f     *fake
	queue []tea.Cmd
}

func newDriver(f *fake) *driver {
	f.now = start
	m := newModel(f, "/home/me")
	m.now = func() time.Time { return f.now }
	m.after = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	d := &driver{m: m, f: f}
	d.add(m.Init())
	d.settle()
	f.now = f.now.Add(time.Second)
	return d
}

func (d *driver) add(c tea.Cmd) {
	if c != nil {
		d.queue = append(d.queue, c)
	}
}

func (d *driver) update(msg tea.Msg) {
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, c := range batch {
			d.add(c)
		}
		return
	}
	_, c := d.m.Update(msg)
	d.m.View() // as bubbletea does
	d.add(c)
}

// step runs one of the commands that are under way.
func (d *driver) step(i int) {
	c := d.queue[i]
	d.queue = slices.Delete(d.queue, i, i+1)
	d.update(c())
}

// settle runs commands until none is left. One that waits for decisions would never end.
func (d *driver) settle() {
	for n := 0; len(d.queue) > 0 && n < 40; n++ {
		d.step(0)
	}
}

// keys types keys, half a second apart, and lets the daemon answer each.
func (d *driver) keys(keys ...string) {
	for _, k := range keys {
		d.f.now = d.f.now.Add(500 * time.Millisecond)
		d.update(keyOf(k))
		d.settle()
	}
}

// refresh lets the page ask for the questions.
func (d *driver) refresh() {
	d.update(tickMsg{})
	d.settle()
}

func (d *driver) resize(w, h int) { d.update(tea.WindowSizeMsg{Width: w, Height: h}) }

var specialKeys = map[string]rune{
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace,
}

func keyOf(k string) tea.KeyPressMsg {
	if k == "space" {
		return tea.KeyPressMsg{Code: ' ', Text: " "}
	}
	if code, ok := specialKeys[k]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if rest, ok := strings.CutPrefix(k, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(rest[0]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
}

// screen is what a terminal without colours shows.
func (d *driver) screen() string {
	var lines []string
	for line := range strings.SplitSeq(d.m.View().Content, "\n") {
		lines = append(lines, strings.TrimRight(ansi.Strip(line), " "))
	}
	return strings.Join(lines, "\n") + "\n"
}
