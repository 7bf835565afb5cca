package records

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/policy/decisionlogs/event"
)

// Formats are the formats of an export.
var Formats = []string{"jsonl", "opa", "csv"}

// Export writes all decisions that a filter selects, the oldest first.
func (l *Log) Export(ctx context.Context, s *cli.Streams, f decisions.RecordFilter, format string) error {
	out := bufio.NewWriterSize(s.Out, 1<<16)
	write := func(rec *decisions.Record) error { return cli.PrintJSON(out, rec) }
	flush := out.Flush
	switch format {
	case "opa":
		write = func(rec *decisions.Record) error {
			return cli.PrintJSON(out, event.Of(rec, map[string]string{"app": "permd", "version": buildinfo.Version()}))
		}
	case "csv":
		w := csv.NewWriter(out)
		if err := w.Write(csvHeader()); err != nil {
			return err
		}
		write = func(rec *decisions.Record) error { return w.Write(csvRow(rec)) }
		flush = func() error {
			w.Flush()
			return errors.Join(w.Error(), out.Flush())
		}
	}
	damaged := 0
	err := l.Each(ctx, s, f, func(recs []*decisions.Record) error {
		for _, rec := range recs {
			if rec.Unreadable != "" {
				damaged++
			}
			if err := write(rec); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
		}
		return nil
	})
	if err := errors.Join(err, flush()); err != nil {
		return err
	}
	if damaged > 0 {
		return Unreadable(damaged)
	}
	return nil
}

// csvColumns are the columns of a table, in their order.
var csvColumns = []struct {
	name string
	of   func(r *decisions.Record) string
}{
	{"seq", func(r *decisions.Record) string { return strconv.FormatInt(r.Seq, 10) }},
	{"time", func(r *decisions.Record) string { return r.Time.UTC().Format(time.RFC3339Nano) }},
	{"decision_id", func(r *decisions.Record) string { return r.Decision.ID }},
	{"verdict", func(r *decisions.Record) string { return string(r.Decision.Verdict) }},
	{"decided_by", func(r *decisions.Record) string { return string(r.Decision.By) }},
	{"outcome", func(r *decisions.Record) string { return string(r.Decision.Outcome) }},
	{"answer", func(r *decisions.Record) string {
		if r.Answer == nil {
			return ""
		}
		return string(r.Answer.Verdict)
	}},
	{"answered_at", func(r *decisions.Record) string {
		if r.Answer == nil {
			return ""
		}
		return r.Answer.Time.UTC().Format(time.RFC3339Nano)
	}},
	{"answered_via", func(r *decisions.Record) string {
		if a := r.Answer; a != nil && a.Author != nil {
			return string(a.Author.Via)
		}
		return ""
	}},
	{"answered_uid", func(r *decisions.Record) string {
		if a := r.Answer; a != nil && a.Author != nil {
			return strconv.FormatUint(uint64(a.Author.UID), 10)
		}
		return ""
	}},
	{"answered_pid", func(r *decisions.Record) string {
		if a := r.Answer; a != nil && a.Author != nil {
			return strconv.FormatInt(int64(a.Author.PID), 10)
		}
		return ""
	}},
	{"answered_process", func(r *decisions.Record) string {
		if a := r.Answer; a != nil && a.Author != nil {
			return a.Author.Process
		}
		return ""
	}},
	{"choices", func(r *decisions.Record) string {
		if r.Answer == nil {
			return ""
		}
		return strings.Join(r.Answer.Choices, " ")
	}},
	{"ran_at", func(r *decisions.Record) string {
		if r.Ran == nil {
			return ""
		}
		return r.Ran.UTC().Format(time.RFC3339Nano)
	}},
	{"ended_as", func(r *decisions.Record) string {
		if r.Ended == nil {
			return ""
		}
		return r.Ended.As
	}},
	{"agent", func(r *decisions.Record) string { return r.Agent.Name }},
	{"agent_version", func(r *decisions.Record) string { return r.Agent.Version }},
	{"client", func(r *decisions.Record) string { return r.Client.Name }},
	{"session", func(r *decisions.Record) string { return r.Session.ID }},
	{"protocol", func(r *decisions.Record) string { return r.Protocol }},
	{"tool", func(r *decisions.Record) string { return r.Tool }},
	{"project", func(r *decisions.Record) string { return r.Project }},
	{"cwd", func(r *decisions.Record) string { return r.Cwd }},
	{"uid", func(r *decisions.Record) string { return strconv.FormatUint(uint64(r.Peer.UID), 10) }},
	{"pid", func(r *decisions.Record) string { return strconv.FormatInt(int64(r.Peer.PID), 10) }},
	{"effects", func(r *decisions.Record) string {
		var texts []string
		for i := range r.Decision.Effects {
			texts = append(texts, r.Decision.Effects[i].Text)
		}
		return strings.Join(texts, "; ")
	}},
	{"reason", func(r *decisions.Record) string { return r.Decision.Reason }},
	{"latency_ns", func(r *decisions.Record) string { return strconv.FormatInt(r.LatencyNS, 10) }},
	{"policy", func(r *decisions.Record) string { return r.Decision.Policy.Digest }},
	{"unreadable", func(r *decisions.Record) string { return r.Unreadable }},
}

func csvHeader() (names []string) {
	for _, c := range csvColumns {
		names = append(names, c.name)
	}
	return names
}

// csvRow returns a record's cells. A cell that a spreadsheet would take for a formula begins
// with an apostrophe: agents choose the words of their commands.
func csvRow(r *decisions.Record) (cells []string) {
	for _, c := range csvColumns {
		cell := display.Display(c.of(r))
		if mayBeFormula(cell) {
			cell = "'" + cell
		}
		cells = append(cells, cell)
	}
	return cells
}

// mayBeFormula reports whether a cell begins with a mark of a formula, perhaps after blanks and
// quotes, or with its like of full width, which spreadsheets for East Asian texts take for it.
func mayBeFormula(cell string) bool {
	cell = strings.TrimLeftFunc(cell, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	return strings.IndexAny(cell, "=+-@'\uff1d\uff0b\uff0d\uff20") == 0
}
