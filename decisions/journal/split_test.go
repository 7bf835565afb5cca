//go:build cgo

package journal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/journal/body"
)

// hostile are texts that look like the members between which records are split.
var hostile = []string{
	"", "plain", `","pid":7},"agent":`, `{"time":"x","peer":{"uid":`, `,"latencyNs":1,"decision":{"decisionId":"`, `"callId":null,"verdict":"allow"`,
	`\`, `\"`, "\u2028\x00\x7f é", "\xff\xfe", `,"outcome":"unasked"`,
}

// TestSplit splits records whose texts look like JSON, and puts them together
// again.
func TestSplit(t *testing.T) {
	zone := time.FixedZone("x", 5*3600+1800)
	for i, text := range hostile {
		for _, at := range []time.Time{time.Unix(1700000000, 1), time.Unix(0, -1).In(zone), time.Unix(1<<33, 0).UTC()} {
			rec := &decisions.Record{
				Time: at, Peer: decisions.Peer{UID: 1, GID: 2, PID: int32(i)}, Agent: effects.Party{Name: text, Version: text},
				Client: effects.Party{Name: text}, Session: decisions.SessionRef{ID: text, Ancestors: []string{text}, Mode: text},
				Protocol: text, Tool: text, Cwd: text, Project: text, LatencyNS: int64(i) * 1000,
				Decision: decisions.Decision{
					ID: "d" + text, CallID: text, Verdict: decisions.Ask, Reason: text,
					Effects: []decisions.EffectDecision{{Text: text, From: text, Reason: text}},
				},
			}
			whole, err := rec.AppendJSON(nil)
			if err != nil && err != decisions.ErrNotUTF8 { //nolint:errorlint // returned as it is
				t.Fatal(err)
			}
			shared, own, ok := body.Split(nil, whole)
			if !ok {
				t.Errorf("%q: not split", text)
				continue
			}
			id, _, _ := strings.Cut(column(rec.Decision.ID), "\x00")
			data, ok := own.Append(nil, []byte(id), at.UnixNano())
			if !ok {
				t.Fatalf("%q: its values are no JSON", text)
			}
			r := row{seq: 1, format: body.FormatSplit, id: id, time: at.UnixNano(), record: data, body: shared}
			again, err := r.json()
			if err != nil || !bytes.Equal(again, whole) {
				t.Errorf("%q: have %s, %v\nwant %s", text, again, err, whole)
			}
			// The same call again has the same body.
			rec.Time, rec.LatencyNS, rec.Peer.PID = at.Add(time.Hour), 7, 99
			rec.Decision.ID, rec.Decision.CallID = "another", "c2"
			whole, _ = rec.AppendJSON(nil)
			if second, _, _ := body.Split(nil, whole); !bytes.Equal(second, shared) {
				t.Errorf("%q: a repetition has another body:\n%s\n%s", text, second, shared)
			}
		}
	}
	for _, other := range []string{"", "{}", `{"time":1}`, `{"seq":1,"time":"x"}`} {
		if _, _, ok := body.Split(nil, []byte(other)); ok {
			t.Errorf("%s was split", other)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, text := range hostile {
		f.Add([]byte(fmt.Sprintf(`{"time":"t","peer":{"uid":1,"gid":2,"pid":3},"agent":{"name":%q},"latencyNs":4,"decision":{"decisionId":"d","callId":%q,"verdict":"ask"}}`, text, text)))
	}
	f.Fuzz(func(t *testing.T, whole []byte) {
		shared, own, ok := body.Split(nil, whole)
		if !ok {
			return
		}
		if again, err := body.Join(nil, shared, &own); err != nil || !bytes.Equal(again, whole) {
			t.Errorf("have %s, %v\nwant %s", again, err, whole)
		}
	})
}
