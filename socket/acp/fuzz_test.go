package acp

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// seeds adds the params of all samples' messages.
func seeds(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.json*")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d samples, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if filepath.Ext(file) == ".json" {
			f.Add([]byte(member(data, "params")))
			f.Add([]byte(member(data, "params", "toolCall")))
			continue
		}
		for raw := range bytes.Lines(data) {
			f.Add([]byte(member(raw, "msg", "params")))
		}
	}
}

// FuzzRequest checks that every request that can be read has an identity, that an
// answer is one of its options, and that a request is never allowed if it is
// defective, incomplete, a question or a switch of mode.
func FuzzRequest(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if strictjson.Check(data) != nil {
			return
		}
		r, err := parseRequest(data, new(knownOptions))
		if err != nil {
			return
		}
		if r.sessionID == "" || r.version == version1 && r.call.id == "" {
			t.Fatal("a request without an identity")
		}
		var state connState
		s := state.session(r.sessionID)
		if _, err := state.noteVersion(s, r.version, nil); err != nil {
			t.Fatal(err)
		}
		merged := state.callOf(s, r)
		p := r.newPendingRequest(&merged, nil, s, "")
		call := &p.request.Call
		if len(call.Defects) > maxDefects {
			t.Fatalf("%d defects", len(call.Defects))
		}
		if call.Claims.Meta != nil && strictjson.Check(call.Claims.Meta) != nil {
			t.Fatalf("_meta is not valid: %s", call.Claims.Meta)
		}
		never := len(call.Defects) > 0 || call.Incomplete != "" ||
			slices.ContainsFunc(call.Marks, func(m effects.Mark) bool { return m.Kind == effects.KindQuestion })
		for _, v := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
			id, ok := Choose(p.options, v, p.facts)
			if !ok {
				continue
			}
			i := slices.IndexFunc(p.options, func(o Option) bool { return o.ID == id })
			switch {
			case i < 0:
				t.Fatalf("%s: an id that was not offered", v)
			case v == decisions.Allow && never:
				t.Fatalf("allow of %+v", call)
			case v == decisions.Allow && p.options[i].Kind != AllowOnce, v == decisions.Deny && p.options[i].Kind != RejectOnce:
				t.Fatalf("%s: option of kind %s", v, p.options[i].Kind)
			}
		}
	})
}

// FuzzUpdate merges two updates and checks the accounting.
func FuzzUpdate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if strictjson.Check(data) != nil {
			return
		}
		id, err := updateSession(data)
		if err != nil {
			return
		}
		var state connState
		s := state.session(id)
		ver, err := state.noteVersion(s, updateVersion(data), nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := parseUpdate(data, ver)
		if err != nil || u.call == nil {
			return
		}
		state.apply(s, u.call, u.created)
		once := state.bytes
		if !u.call.more {
			if state.apply(s, u.call, u.created); state.bytes != once {
				t.Fatalf("the same update twice: %d bytes, then %d", once, state.bytes)
			}
		}
		t1 := state.mergeRequest(s, &patch{id: u.call.id})
		if known := len(s.calls) == 1; known == u.call.ended || known && t1.id != u.call.id {
			t.Fatalf("known: %v, ended: %v", known, u.call.ended)
		}
		state.forget(id)
		if state.bytes != 0 {
			t.Fatalf("%d bytes are kept of nothing", state.bytes)
		}
	})
}
