package decisionlogs

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/policy/decisionlogs/event"
)

// gapPath is the path of an event that says what of the log is missing.
const gapPath = "permd/gap"

// item is an event to send.
type item struct {
	data  []byte // nil if it is dropped
	after Position
	seq   int64 // of a decision that is sent for the first time, else 0
	lost  int64 // decisions before it that are gone
	short bool  // it was shortened
}

// items returns the events of a page, masked.
func (u *Uploader) items(ctx context.Context, page *Page) (list []item) {
	labels := maps.Clone(u.target.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["id"] = page.Next.Chain
	var lost int64 // before the first entry
	if page.Replaced {
		list = append(list, u.gap(labels, u.cursor.Position, 0, map[string]any{
			"reason": "replaced", "journal": u.cursor.Chain, "from": u.cursor.Seq + 1,
		}, page.Start))
	}
	if page.Lost > 0 {
		// The cursor stays before the gap until the decision that follows it is acknowledged, so
		// the event may be sent again, like any other. The loss is counted once.
		gap := u.gap(labels, u.cursor.Position, page.Lost, map[string]any{
			"reason": "removed", "from": page.LostFrom, "to": page.LostTo, "removed": page.Lost,
		}, page.Start)
		if len(page.Entries) == 0 {
			gap.after, gap.lost = page.Next, page.Lost
		} else {
			lost = page.Lost
		}
		list = append(list, gap)
	}
	sent := u.cursor.Sent
	if page.Replaced {
		sent = 0
	}
	for i := range page.Entries {
		e := &page.Entries[i]
		it := item{after: e.After, lost: lost}
		lost = 0
		if e.Added == "" {
			it.seq = e.Record.Seq
		}
		it.data = u.encode(ctx, e, labels, sent)
		if it.data != nil && it.seq != 0 {
			sent = it.seq
		}
		list = append(list, it)
	}
	return list
}

// gap returns an event that says that decisions are missing.
func (u *Uploader) gap(labels map[string]string, at Position, lost int64, what map[string]any, after Position) item {
	data, err := json.Marshal(map[string]any{
		"labels": labels, "decision_id": fmt.Sprintf("gap-%s-%d-%v-%v", at.Chain, at.Seq, what["reason"], what["to"]), "path": gapPath,
		"timestamp": u.o.Now().UTC().Format(time.RFC3339Nano), "custom": map[string]any{"permd": map[string]any{"gap": what}},
	}, json.Deterministic(true))
	if err != nil {
		data = nil // of texts and numbers, it can always be encoded
	}
	u.o.Log.Error("decisions are missing in the log that is sent to the service", "why", what["reason"], "from", what["from"], "removed", lost)
	return item{data: data, after: after}
}

// encode returns the event of an entry, nil if it is dropped. Sent is the decision that was sent
// before.
func (u *Uploader) encode(ctx context.Context, e *Entry, labels map[string]string, sent int64) []byte {
	ev := event.Of(e.Record, labels)
	own := map[string]any{"seq": e.Record.Seq}
	if e.Added != "" {
		own["added"], own["entry"] = e.Added, e.After.Entry
	} else if sent > 0 {
		// By this a receiver knows that nothing is missing, also where events are dropped.
		own["follows"] = sent
	}
	if u.target.Policy == nil {
		maps.Copy(ev.Custom["permd"], own)
		if data, err := json.Marshal(ev, json.Deterministic(true)); err == nil {
			return chars.EscapeJSON(data)
		}
		return u.erased(e, labels, own)
	}
	// The policy sees what is sent, and cannot change what says where the event belongs.
	whole := map[string]any{}
	data, err := json.Marshal(ev, json.Deterministic(true))
	if err == nil {
		err = strictjson.Unmarshal(data, &whole)
	}
	var dropped bool
	if err == nil {
		dropped, err = u.target.Policy.Apply(ctx, whole, u.o.Now())
	}
	switch {
	case err != nil:
		if u.count(func(c *Counts) int64 { c.Unmasked++; return c.Unmasked }) == 1 {
			u.o.Log.Error("a decision is sent without its input and result, since the policy that masks it failed", "decision", e.Record.Decision.ID, "error", err)
		}
		u.set(func(s *Status) { s.MaskError = err.Error() })
		return u.erased(e, labels, own)
	case dropped:
		u.count(func(c *Counts) int64 { c.Dropped++; return c.Dropped })
		return nil
	}
	withOwn(whole, own)
	if data, err = json.Marshal(whole, json.Deterministic(true)); err != nil {
		return u.erased(e, labels, own)
	}
	return chars.EscapeJSON(data)
}

// withOwn sets what permd itself says in custom, whatever a mask did to it.
func withOwn(whole, own map[string]any) {
	custom, ok := whole["custom"].(map[string]any)
	if !ok {
		custom = map[string]any{}
		whole["custom"] = custom
	}
	permd, ok := custom["permd"].(map[string]any)
	if !ok {
		permd = map[string]any{}
		custom["permd"] = permd
	}
	maps.Copy(permd, own)
}

// erased returns the event of an entry without anything that a policy could have masked.
func (u *Uploader) erased(e *Entry, labels map[string]string, own map[string]any) []byte {
	own["maskingFailed"] = true
	data, err := json.Marshal(map[string]any{
		"labels": labels, "decision_id": e.Record.Decision.ID, "path": event.Path, "timestamp": e.Record.Time,
		"erased": []string{"/input", "/result", "/custom"}, "custom": map[string]any{"permd": own},
	}, json.Deterministic(true))
	if err != nil {
		return []byte("{}") // of texts and numbers, it can always be encoded
	}
	return data
}

// shorten returns an event without its input and the effects of its result. What is left says
// what was decided, by what, and what the person said.
func shorten(data []byte) []byte {
	whole := map[string]any{}
	if strictjson.Unmarshal(data, &whole) != nil {
		return data
	}
	erased, _ := whole["erased"].([]any)
	if _, ok := whole["input"]; ok {
		delete(whole, "input")
		erased = append(erased, "/input")
	}
	if result, ok := whole["result"].(map[string]any); ok {
		kept := map[string]any{}
		for _, name := range []string{"decisionId", "verdict", "decidedBy", "outcome", "policy", "answer", "ran", "ended"} {
			if v, ok := result[name]; ok {
				kept[name] = v
			}
		}
		whole["result"] = kept
		erased = append(erased, "/result/effects")
	}
	own := map[string]any{"tooLarge": true}
	if custom, ok := whole["custom"].(map[string]any); ok {
		if permd, ok := custom["permd"].(map[string]any); ok {
			for _, name := range []string{"seq", "follows", "added", "entry", "maskingFailed"} {
				if v, ok := permd[name]; ok {
					own[name] = v
				}
			}
		}
	}
	whole["custom"], whole["erased"] = map[string]any{"permd": own}, erased
	short, err := json.Marshal(whole, json.Deterministic(true))
	if err != nil {
		return data
	}
	return chars.EscapeJSON(short)
}
