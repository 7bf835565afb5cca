package decisions

import (
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
)

// ErrNotUTF8 is returned with an encoding in which U+FFFD replaces invalid UTF-8, for
// example in a file's name.
var ErrNotUTF8 = errors.New("text that is not UTF-8")

// AppendJSON appends the record's JSON form, equal to that of the JSON library but made
// without reflection, which would take as long as storing the record. With ErrNotUTF8
// the form is complete; with any other error it is not usable.
func (r *Record) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: append(b, '{')}
	if r.Seq != 0 {
		e.number(`"seq":`, r.Seq)
		e.raw(`,`)
	}
	e.time(`"time":`, r.Time)
	e.number(`,"peer":{"uid":`, int64(r.Peer.UID))
	e.number(`,"gid":`, int64(r.Peer.GID))
	e.number(`,"pid":`, int64(r.Peer.PID))
	e.party(`},"agent":`, &r.Agent)
	e.party(`,"client":`, &r.Client)
	e.text(`,"session":{"id":`, r.Session.ID)
	e.list(`,"ancestors":`, r.Session.Ancestors)
	e.optionalText(`,"mode":`, r.Session.Mode)
	e.text(`},"protocol":`, r.Protocol)
	e.text(`,"tool":`, r.Tool)
	e.optionalText(`,"declared":`, r.Declared)
	e.optionalText(`,"claimedUser":`, r.ClaimedUser)
	e.optionalText(`,"claimedTrace":`, r.ClaimedTrace)
	e.optionalText(`,"claimedKind":`, r.ClaimedKind)
	e.optionalText(`,"claimedTitle":`, r.ClaimedTitle)
	e.list(`,"claimedPaths":`, r.ClaimedPaths)
	if r.MorePaths != 0 {
		e.number(`,"morePaths":`, int64(r.MorePaths))
	}
	e.optionalText(`,"claimedStatus":`, r.ClaimedStatus)
	e.list(`,"claimedOptions":`, r.ClaimedOptions)
	e.list(`,"claimedMeta":`, r.ClaimedMeta)
	e.optionalText(`,"cwd":`, r.Cwd)
	e.optionalText(`,"project":`, r.Project)
	e.optionalText(`,"reconsiders":`, r.Reconsiders)
	e.number(`,"latencyNs":`, r.LatencyNS)
	e.raw(`,"decision":`)
	e.decision(&r.Decision)
	if r.Details != nil {
		e.raw(`,"details":[`)
		for i := range r.Details {
			e.detail(i, &r.Details[i])
		}
		e.raw(`]`)
	}
	if r.LeftOut != 0 {
		e.number(`,"leftOut":`, int64(r.LeftOut))
	}
	if a := r.Answer; a != nil {
		e.time(`,"answer":{"time":`, a.Time)
		e.text(`,"verdict":`, string(a.Verdict))
		e.list(`,"choices":`, a.Choices)
		e.author(`,"author":`, a.Author)
		if a.Allowed != nil {
			e.time(`,"allowed":`, *a.Allowed)
		}
		e.author(`,"allowedBy":`, a.AllowedBy)
		e.raw(`}`)
	}
	if r.Ran != nil {
		e.time(`,"ran":`, *r.Ran)
	}
	if r.Ended != nil {
		e.time(`,"ended":{"time":`, r.Ended.Time)
		e.text(`,"as":`, r.Ended.As)
		e.raw(`}`)
	}
	e.optionalText(`,"unreadable":`, r.Unreadable)
	e.raw(`}`)
	return e.b, e.err
}

// AppendJSON appends the decision's JSON form, as Record.AppendJSON does.
func (d *Decision) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: b}
	e.decision(d)
	return e.b, e.err
}

// author appends who answered, if that is known.
func (e *encoder) author(before string, a *author.Identity) {
	if a == nil {
		return
	}
	e.text(before+`{"via":`, string(a.Via))
	e.number(`,"uid":`, int64(a.UID))
	e.number(`,"pid":`, int64(a.PID))
	e.optionalText(`,"process":`, a.Process)
	e.raw(`}`)
}

// encoder appends members of JSON objects. Each method takes the text before its value,
// so that names are constants that need no escaping.
type encoder struct {
	b   []byte
	err error
}

func (e *encoder) decision(d *Decision) {
	e.text(`{"decisionId":`, d.ID)
	e.text(`,"callId":`, d.CallID)
	e.text(`,"verdict":`, string(d.Verdict))
	e.text(`,"needed":`, string(d.Needed))
	e.text(`,"reason":`, d.Reason)
	e.optionalText(`,"message":`, d.Message)
	e.text(`,"decidedBy":`, string(d.By))
	e.text(`,"policy":{"digest":`, d.Policy.Digest)
	e.raw(`}`)
	if d.Defects != nil {
		e.raw(`,"defects":[`)
		for i := range d.Defects {
			e.defect(i, &d.Defects[i])
		}
		e.raw(`]`)
	}
	e.raw(`,"effects":[`)
	for i := range d.Effects {
		e.effect(i, &d.Effects[i])
	}
	e.raw(`]`)
	if d.Widths != nil {
		e.raw(`,"widths":[`)
		for i, w := range d.Widths {
			e.comma(i)
			e.text(`{"id":`, w.ID)
			e.text(`,"label":`, w.Label)
			e.text(`,"rule":`, w.Rule)
			e.text(`,"scope":`, w.Scope)
			e.raw(`}`)
		}
		e.raw(`]`)
	}
	e.optionalText(`,"notRemembered":`, d.NotRemembered)
	e.optionalText(`,"outcome":`, string(d.Outcome))
	e.raw(`}`)
}

func (e *encoder) defect(i int, d *effects.Defect) {
	e.comma(i)
	e.text(`{"code":`, d.Code)
	e.text(`,"at":`, d.At)
	e.text(`,"text":`, d.Text)
	e.raw(`}`)
}

func (e *encoder) effect(i int, x *EffectDecision) {
	e.comma(i)
	e.text(`{"kind":`, string(x.Kind))
	e.text(`,"text":`, x.Text)
	e.text(`,"from":`, x.From)
	e.list(`,"tags":`, x.Tags)
	if x.Claimed {
		e.raw(`,"claimed":true`)
	}
	if x.Declared {
		e.raw(`,"declared":true`)
	}
	e.text(`,"verdict":`, string(x.Verdict))
	e.text(`,"reason":`, x.Reason)
	e.number(`,"row":`, int64(x.Row))
	e.raw(`,"rules":[`)
	for i := range x.Rules {
		r := &x.Rules[i]
		e.comma(i)
		e.text(`{"id":`, r.ID)
		e.optionalText(`,"title":`, r.Title)
		e.text(`,"at":`, r.At)
		e.text(`,"layer":`, string(r.Layer))
		e.raw(`}`)
	}
	e.raw(`]`)
	e.optionalText(`,"choiceId":`, x.ChoiceID)
	if o := x.Outdated; o != nil {
		e.text(`,"outdated":{"choiceId":`, o.ChoiceID)
		e.text(`,"what":`, o.What)
		e.text(`,"how":`, string(o.How))
		e.time(`,"since":`, o.Since)
		e.optionalText(`,"was":`, o.Was)
		e.optionalText(`,"now":`, o.Now)
		e.raw(`}`)
	}
	e.raw(`}`)
}

func (e *encoder) party(before string, p *effects.Party) {
	e.raw(before)
	e.text(`{"name":`, p.Name)
	e.optionalText(`,"version":`, p.Version)
	e.raw(`}`)
}

func (e *encoder) raw(s string) { e.b = append(e.b, s...) }

func (e *encoder) comma(i int) {
	if i > 0 {
		e.raw(`,`)
	}
}

func (e *encoder) number(before string, n int64) {
	e.raw(before)
	e.b = strconv.AppendInt(e.b, n, 10)
}

// optionalText is text for a member that is omitted if empty.
func (e *encoder) optionalText(before, s string) {
	if s != "" {
		e.text(before, s)
	}
}

// list appends a list of texts; a nil one is omitted.
func (e *encoder) list(before string, list []string) {
	if list == nil {
		return
	}
	e.raw(before)
	for i, s := range list {
		if i == 0 {
			e.text(`[`, s)
		} else {
			e.text(`,`, s)
		}
	}
	if len(list) == 0 {
		e.raw(`[`)
	}
	e.raw(`]`)
}

func (e *encoder) text(before, s string) {
	e.raw(before)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			var err error
			if e.b, err = jsontext.AppendQuote(e.b, s); err != nil && e.err == nil {
				e.err = ErrNotUTF8
			}
			return
		}
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, s...)
	e.b = append(e.b, '"')
}

// time uses the library, which rejects times that RFC 3339 cannot express.
func (e *encoder) time(before string, t time.Time) {
	e.raw(before)
	if _, offset := t.Zone(); offset%60 == 0 && t.Year() >= 1000 && t.Year() <= 9999 {
		e.b = append(e.b, '"')
		e.b = t.AppendFormat(e.b, time.RFC3339Nano)
		e.b = append(e.b, '"')
		return
	}
	text, err := json.Marshal(t)
	if err != nil {
		e.err, text = err, []byte("null")
	}
	e.b = append(e.b, text...)
}
