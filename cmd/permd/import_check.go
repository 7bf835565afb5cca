package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/imports"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// importCheck compares the settings of another tool with the imported rules on
// past decisions. Its JSON form is kept.
type importCheck struct {
	Decisions int `json:"decisions"`
	Same      int `json:"same"`
	Stricter  int `json:"stricter"` // permd is
	Looser    int `json:"looser"`   // permd is
	// Silent are decisions of which no rule of the settings speaks.
	Silent int `json:"silent"`
	// Unknown are decisions whose record does not say enough: something in it is
	// masked or cut.
	Unknown int         `json:"unknown"`
	Rows    []importRow `json:"rows"` // that differ
}

// importRow is one decision that differs.
type importRow struct {
	DecisionID string             `json:"decisionId"`
	Time       time.Time          `json:"time"`
	Call       string             `json:"call"`
	Peer       imports.Saying     `json:"peer"`
	Permd      decisions.Verdict  `json:"permd"`
	Reason     string             `json:"reason"`
	Recorded   decisions.Verdict  `json:"recorded"`
	Answered   *decisions.Verdict `json:"answered,omitzero"`
	Looser     bool               `json:"looser,omitzero"`
}

func (a *app) importCheck(ctx context.Context, report *importReport, im *imports.Import, o *importOptions) error {
	f, err := o.log.filter(time.Now())
	if err != nil {
		return err
	}
	log, err := a.openLog(ctx)
	if err != nil {
		return err
	}
	defer log.close()
	recs, err := log.List(ctx, f)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	with, done, err := a.importedCaller(ctx, im)
	if err != nil {
		return err
	}
	defer done()
	check := &importCheck{Decisions: len(recs), Rows: []importRow{}}
	home := (&users{}).user(uint32(os.Geteuid())).Home
	r := &replayed{to: with, sessions: map[string]bool{}}
	for _, rec := range recs {
		if err := r.compare(ctx, check, im, rec, home); err != nil {
			return err
		}
	}
	report.Check = check
	if a.json {
		return printIndented(a.out, report)
	}
	a.importNotes(report)
	for _, row := range check.Rows {
		what := word(row.Looser, "permd is looser", "permd is stricter")
		fmt.Fprintf(a.out, "%s  %s\n    %s: %s says %s (%s), permd %s (%s)\n", row.DecisionID, row.Call, what, im.Peer.Name(),
			row.Peer.Verdict, row.Peer.At, row.Permd, effects.Display(row.Reason))
	}
	fmt.Fprintf(a.out, "%s: %d the same, %d where permd is stricter, %d where it is looser; no rule of %s speaks of %d, and %d cannot be told\n",
		plural(check.Decisions, "decision"), check.Same, check.Stricter, check.Looser, im.Peer.Name(), check.Silent, check.Unknown)
	return nil
}

// importedCaller decides in this process with the imported rules in the place of
// the person's own.
func (a *app) importedCaller(ctx context.Context, im *imports.Import) (*localCaller, func(), error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, nil, err
	}
	root, err := os.MkdirTemp("", "permd-import-")
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for the rules: %w", err)
	}
	rules := filepath.Join(root, policyDir)
	done := func() {
		removeScratch(rules, im)
		_ = os.Remove(filepath.Join(root, settingsName)) // what is left lies in the folder of temporary files
		_ = os.Remove(root)
	}
	err = errors.Join(copySettings(filepath.Join(dirs.Config, settingsName), filepath.Join(root, settingsName)), os.Mkdir(rules, 0o700))
	for _, f := range im.Files {
		err = errors.Join(err, os.WriteFile(filepath.Join(rules, f.Name), []byte(f.Text), 0o600))
	}
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("writing rules: %w", err)
	}
	dirs.Config = root
	d := &daemon{dirs: dirs, users: &users{}, log: slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if d.store, d.settings, err = openPolicy(ctx, dirs, a.root != "", nil); err != nil {
		done()
		return nil, nil, err
	}
	d.assemble(noMemory{}, noJournal{}, 0)
	return &localCaller{
		daemon:  d,
		methods: d.decisionMethods(),
		conn:    &socket.Conn{ID: 1, Peer: decisions.Peer{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), PID: int32(os.Getpid())}},
	}, done, nil
}

// copySettings takes the person's settings over, if there are any.
func copySettings(from, to string) error {
	data, err := readSettingsFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// replayed decides past calls again, from what the journal kept of them.
type replayed struct {
	to       caller
	sessions map[string]bool
}

// compare adds one decision to the comparison.
func (r *replayed) compare(ctx context.Context, check *importCheck, im *imports.Import, rec *decisions.Record, home string) error {
	past := recall(rec, home)
	if past == nil {
		check.Unknown++
		return nil
	}
	says := im.Says(rec.Project, home, past.items)
	if says.Verdict == "" {
		check.Silent++
		return nil
	}
	verdict, reason, err := r.decide(ctx, rec, past)
	if err != nil {
		return err
	}
	if verdict == says.Verdict {
		check.Same++
		return nil
	}
	row := importRow{DecisionID: rec.Decision.ID, Time: rec.Time, Call: past.text, Peer: says, Permd: verdict, Reason: reason, Recorded: rec.Decision.Verdict}
	if rec.Answer != nil {
		row.Answered = &rec.Answer.Verdict
	}
	if row.Looser = decisions.Stricter(verdict, says.Verdict) != verdict; row.Looser {
		check.Looser++
	} else {
		check.Stricter++
	}
	check.Rows = append(check.Rows, row)
	return nil
}

// recalled is a past call, as far as the journal knows it: as the other tool sees
// it, and as calls that have its effects.
type recalled struct {
	text  string
	items []imports.Item
	calls []recalledCall
	// open are effects that no rule can allow.
	open int
}

type recalledCall struct {
	tool  string
	input map[string]string
}

// recall reads a record; nil when something in it is not as it was.
func recall(rec *decisions.Record, home string) *recalled {
	past := &recalled{}
	var runs, rest []string
	for _, e := range rec.Decision.Effects {
		if !imports.Replayable(e.Text) {
			return nil
		}
		_, text, _ := strings.Cut(e.Text, " ")
		if e.Kind == effects.KindRun {
			runs = append(runs, text)
		} else {
			rest = append(rest, e.Text)
		}
	}
	line := strings.Join(runs, "; ")
	for _, text := range runs {
		past.items = append(past.items, imports.Command(text, line))
		past.calls = append(past.calls, recalledCall{"Bash", map[string]string{"command": text}})
	}
	past.text = line
	if past.text == "" {
		past.text = strings.Join(rest, "; ")
	}
	for _, e := range rec.Decision.Effects {
		if !past.effect(rec, &e, len(runs) > 0, home) {
			return nil
		}
	}
	return past
}

// effect adds an effect that is no run. With a command the other tool judges the
// command, not its files.
func (p *recalled) effect(rec *decisions.Record, e *decisions.EffectDecision, ofCommand bool, home string) bool {
	_, text, _ := strings.Cut(e.Text, " ")
	item := func(i imports.Item) {
		if !ofCommand {
			p.items = append(p.items, i)
		}
	}
	switch e.Kind {
	case effects.KindRun:
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		path, _, _ := strings.Cut(text, " (given as ")
		path, whole := strings.CutSuffix(path, " and all below")
		if whole || e.Kind == effects.KindDelete && ofCommand {
			// Of a command it comes out of its run again.
			return ofCommand
		}
		switch {
		case strings.HasPrefix(path, "~/"):
			path = home + path[1:]
		case path == "." || strings.HasPrefix(path, "./"):
			path = filepath.Join(rec.Project, path)
		}
		if !filepath.IsAbs(path) {
			return false
		}
		switch e.Kind {
		case effects.KindRead:
			item(imports.Reading(path))
			p.calls = append(p.calls, recalledCall{"Read", map[string]string{"file_path": path}})
		case effects.KindWrite:
			item(imports.Writing(path))
			if ofCommand { // a redirection, which is not what an edit tool writes
				p.calls = append(p.calls, recalledCall{"Bash", map[string]string{"command": "true > " + shellWord(path)}})
				break
			}
			p.calls = append(p.calls, recalledCall{"Write", map[string]string{"file_path": path}})
		default:
			item(imports.Deleting(path))
			p.open++ // a deletion of a tool's own has no other form here
		}
	case effects.KindConnect:
		host, _, _ := strings.Cut(text, " ")
		if strings.HasPrefix(text, "to ") {
			return true // inherent to its run, whose call has it again
		}
		item(imports.Fetching("https://" + host + "/"))
		p.calls = append(p.calls, recalledCall{"WebFetch", map[string]string{"url": "https://" + host + "/"}})
	case effects.KindUse:
		server, tool, ok := strings.Cut(text, ":")
		if !ok {
			server, tool = "", text
		}
		item(imports.Using(server, tool))
		name := tool
		if server != "" {
			name = "mcp__" + server + "__" + tool
		}
		p.calls = append(p.calls, recalledCall{name, map[string]string{}})
	default:
		p.open++
	}
	return true
}

// decide is what permd says of the call now: the strictest of its parts.
func (r *replayed) decide(ctx context.Context, rec *decisions.Record, past *recalled) (verdict decisions.Verdict, reason string, err error) {
	o := decideOptions{cwd: rec.Cwd, agent: "claude-agent-acp"}
	id := "import " + rec.Cwd
	if !r.sessions[id] && rec.Cwd != "" {
		if err := o.declare(ctx, r.to, id); err != nil {
			return "", "", err
		}
		r.sessions[id] = true
	}
	verdict, reason = decisions.Allow, ""
	if past.open > 0 {
		verdict, reason = decisions.Ask, "a part of it is never allowed by a rule"
	}
	for _, c := range past.calls {
		session := ""
		if rec.Cwd != "" {
			session = id
		}
		list, err := client.Decide(ctx, r.to, session, client.ToolCall{ID: "1", Tool: client.Tool{Name: c.tool}, Input: c.input})
		if err != nil {
			return "", "", fmt.Errorf("deciding %s again: %w", rec.Decision.ID, err)
		}
		if d := list[0]; decisions.Stricter(verdict, d.Verdict) != verdict || reason == "" && d.Verdict == verdict {
			verdict, reason = decisions.Stricter(verdict, d.Verdict), d.Reason
		}
	}
	return verdict, reason, nil
}
