//go:build cgo

package journal

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/chain"
)

// spoolOf returns the frames of a spool with n records and an answer to the last.
func spoolOf(t testing.TB, n int, text string) []byte {
	t.Helper()
	var r request
	recs := make([]*decisions.Record, n)
	for i := range recs {
		recs[i] = &decisions.Record{
			Time: time.Unix(1700000000, int64(i)).UTC(), Peer: decisions.Peer{UID: 1, PID: 2}, Agent: effects.Party{Name: text}, Tool: text,
			Session:  decisions.SessionRef{ID: text},
			Decision: decisions.Decision{ID: "d" + text, Verdict: decisions.Ask, Reason: text, Effects: []decisions.EffectDecision{{Text: text}}},
		}
	}
	if err := r.fill(recs); err != nil {
		t.Fatal(err)
	}
	data := appendAnswer(r.frames, int64(n), time.Unix(1700000001, 0), decisions.Deny, []byte(`{"by":"person"}`))
	data = appendRan(data, int64(n), time.Unix(1700000002, 0))
	data = appendEnded(data, int64(n), decisions.Ending{Time: time.Unix(1700000003, 0), As: "failed"})
	stamp(data, 1)
	return data
}

// FuzzFrames: whatever a spool contains, what is read of it are whole frames from its
// beginning, which are the same bytes when they are stamped again. A spool that is cut
// off is torn and not damaged, and loses only what is missing. One that was changed never
// says something else.
func FuzzFrames(f *testing.F) {
	for _, text := range hostile {
		f.Add(spoolOf(f, 3, text), uint(7), uint(40))
	}
	f.Add([]byte{}, uint(0), uint(0))
	f.Add(make([]byte, 64), uint(1), uint(1))
	f.Fuzz(func(t *testing.T, data []byte, cut, flip uint) {
		// A checksum says nothing about what it is of.
		payload := append(make([]byte, frameHead), data...)
		if end(payload); len(data) > 8 {
			stamp(payload, 1)
			if fr, size, err := readFrame(payload); err == nil && (size != len(payload) || len(fr.json) > len(data)) {
				t.Fatalf("%d bytes of %d, with %d of JSON", size, len(payload), len(fr.json))
			}
		}
		good, read, stopped := goodFrames(data)
		again := slices.Clone(good)
		if stamp(again, firstSeq(read)); len(read) > 0 && contiguous(read) && !bytes.Equal(again, good) {
			t.Fatal("stamped again, the frames are others")
		}
		if stopped != nil && !errors.Is(stopped, errTorn) && !errors.Is(stopped, errDamaged) {
			t.Fatalf("error %v", stopped)
		}
		for i := range read {
			if read[i].seq <= 0 {
				t.Fatalf("a record of number %d", read[i].seq)
			}
		}
		if len(good) == 0 {
			return
		}
		part, some, stopped := goodFrames(good[:cut%uint(len(good))])
		if !bytes.HasPrefix(good, part) || len(some) > len(read) {
			t.Fatal("a part of the spool has other frames than the whole")
		}
		if stopped != nil && !errors.Is(stopped, errTorn) {
			t.Fatalf("a spool that was cut off: %v", stopped)
		}
		changed := slices.Clone(good)
		changed[flip/8%uint(len(good))] ^= 1 << (flip % 8)
		part, _, stopped = goodFrames(changed)
		if stopped == nil || !bytes.HasPrefix(good, part) {
			t.Fatalf("one bit was changed, and what is read are other frames, error %v", stopped)
		}
	})
}

// goodFrames returns the frames that can be read, and what ended the reading.
func goodFrames(data []byte) (good []byte, read []frame, end error) {
	n := 0
	for f, err := range frames(data) {
		if err != nil {
			return data[:n], read, err
		}
		read = append(read, f)
		n += sizeOf(data[n:])
	}
	return data[:n], read, nil
}

func firstSeq(read []frame) int64 {
	for i := range read {
		if read[i].kind == chain.Record {
			return read[i].seq
		}
	}
	return 1
}

// contiguous reports whether the records have consecutive numbers, as stamp gives them.
func contiguous(read []frame) bool {
	next := firstSeq(read)
	for i := range read {
		if read[i].kind != chain.Record {
			continue
		}
		if read[i].seq != next {
			return false
		}
		next++
	}
	return true
}

// FuzzDecode: a record that can be read is written and read as the same, and how it is
// stored does not change a byte of it.
func FuzzDecode(f *testing.F) {
	for _, text := range hostile {
		for r := range records(spoolOf(f, 1, text)) {
			f.Add(r.json)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := Decode(data)
		if err != nil {
			return
		}
		once, err := Encode(rec)
		if err != nil {
			return // a time that JSON cannot hold
		}
		again, err := Decode(once)
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, once)
		}
		twice, err := Encode(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written again: %v\n%s\n%s", err, once, twice)
		}
		if again.Decision.Verdict != rec.Decision.Verdict || again.Decision.By != rec.Decision.By {
			t.Fatalf("the verdict was %q, and is %q", rec.Decision.Verdict, again.Decision.Verdict)
		}
		stored := row{seq: 1, format: body.FormatWhole, record: once}
		if shared, own, ok := body.Split(nil, once); ok {
			packed, ok := own.Append(nil, []byte(rec.Decision.ID), rec.Time.UnixNano())
			if !ok {
				t.Fatalf("its values are no JSON: %s", once)
			}
			stored = row{seq: 1, format: body.FormatSplit, id: rec.Decision.ID, time: rec.Time.UnixNano(), record: packed, body: shared}
		}
		whole, err := stored.json()
		if err != nil || !bytes.Equal(whole, once) {
			t.Fatalf("stored: %v\n%s\n%s", err, whole, once)
		}
	})
}

// FuzzOwnValues: the values of a row that shares its body never make another record of it
// by being more than values.
func FuzzOwnValues(f *testing.F) {
	f.Add([]byte(`[null,7,1200,null,"c1"]`), []byte(`{"time":,"peer":{"uid":1,"gid":2,"pid":},"agent":{},"latencyNs":,"decision":{"decisionId":,"callId":,"verdict":"ask"}}`), "d1", int64(1700000000))
	f.Fuzz(func(t *testing.T, data, shared []byte, id string, at int64) {
		r := row{seq: 1, format: body.FormatSplit, id: id, time: at, record: data, body: shared}
		whole, err := r.json()
		if err != nil {
			return
		}
		// Whatever the row says, the verdict is the body's.
		if want, has := bytes.Count(shared, []byte(`,"verdict":"allow"`)), bytes.Count(whole, []byte(`,"verdict":"allow"`)); has > want && !bytes.Contains(data, []byte(`verdict`)) {
			t.Fatalf("%s and %s are %s", data, shared, whole)
		}
		if rec, _, err := r.decode(); err == nil && rec.Seq != 1 {
			t.Fatalf("number %d", rec.Seq)
		}
	})
}
