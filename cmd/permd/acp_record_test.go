package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/socket/client"
)

// saidCall is what messages say of a tool call, as far as a record has it.
type saidCall struct {
	Title, Kind *string
	Locations   []struct{ Path any }
	Content     []saidContent
}

type saidContent struct {
	Type    string
	Path    any
	Changes []struct{ Path, OldPath any }
}

// merge takes over what an update of the same call has.
func (s *saidCall) merge(u *saidCall) {
	if u.Title != nil {
		s.Title = u.Title
	}
	if u.Kind != nil {
		s.Kind = u.Kind
	}
	if u.Locations != nil {
		s.Locations = u.Locations
	}
	if u.Content != nil {
		s.Content = u.Content
	}
}

func (s *saidCall) paths() []string {
	var list []string
	add := func(v any) {
		if p, ok := v.(string); ok && p != "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, l := range s.Locations {
		add(l.Path)
	}
	for _, c := range s.Content {
		if c.Type == "diff" {
			add(c.Path)
			for _, change := range c.Changes {
				add(change.Path)
				add(change.OldPath)
			}
		}
	}
	slices.Sort(list)
	return list
}

// TestACPRecords sends the requests of real agents, with what came before them, and compares
// what `permd log show` has of each with the messages: kind, title and all paths of the call.
func TestACPRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the requests of all samples; TestStatus is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.start(t)
	files, err := filepath.Glob("../../socket/acp/testdata/*.json*")
	if err != nil {
		t.Fatal(err)
	}
	seen, titles, paths := 0, 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		type message struct {
			Method string
			Params json.RawMessage
		}
		var messages []message
		if strings.HasSuffix(file, ".jsonl") {
			for line := range strings.Lines(string(data)) {
				var m struct {
					Dir string
					Msg message
				}
				if json.Unmarshal([]byte(line), &m) == nil && m.Dir == "a2c" {
					messages = append(messages, m.Msg)
				}
			}
		} else {
			var m message
			_ = json.Unmarshal(data, &m) // the index is a list
			messages = append(messages, m)
		}
		c := d.dial(t)
		said := map[string]*saidCall{}
		for _, m := range messages {
			var p struct {
				Subject struct {
					Type     string
					ToolCall json.RawMessage
				}
				ToolCall, Update json.RawMessage
			}
			if m.Method != "session/update" && m.Method != "session/request_permission" {
				continue
			}
			if err := json.Unmarshal(m.Params, &p); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, raw := range []json.RawMessage{p.ToolCall, p.Subject.ToolCall, p.Update} {
				var id struct{ ToolCallID string }
				var call saidCall
				if json.Unmarshal(raw, &id) != nil || id.ToolCallID == "" {
					continue
				}
				if err := json.Unmarshal(raw, &call); err != nil {
					readLeniently(raw, &call)
				}
				if said[id.ToolCallID] == nil {
					said[id.ToolCallID] = &saidCall{}
				}
				said[id.ToolCallID].merge(&call)
			}
			var result json.RawMessage
			err := c.Call(t.Context(), m.Method, m.Params, &result)
			if m.Method == "session/update" {
				continue
			}
			text := string(result)
			if e, ok := errors.AsType[*client.Error](err); ok {
				text = string(e.Data)
			}
			_, id, ok := strings.Cut(text, `"decisionId":"`)
			if !ok {
				if !strings.Contains(file, "strict-") {
					t.Errorf("%s: no decision: %s, %v", file, text, err)
				}
				continue
			}
			id, _, _ = strings.Cut(id, `"`)
			out, err := d.command("log", "show", id, "--json").Output()
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			var r decisions.Record
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatal(err)
			}
			want := said[r.Decision.CallID]
			if want == nil || p.Subject.Type == "command" {
				want = &saidCall{}
			}
			slices.Sort(r.ClaimedPaths)
			if diff := cmp.Diff(want.paths(), r.ClaimedPaths); diff != "" {
				t.Errorf("%s: paths (-message +record):\n%s", file, diff)
			}
			if want.Title != nil && r.ClaimedTitle != display.Display(*want.Title) {
				t.Errorf("%s: title %q, want that of %q", file, r.ClaimedTitle, *want.Title)
			}
			if want.Kind != nil && r.ClaimedKind != *want.Kind && r.ClaimedKind != "other" {
				t.Errorf("%s: kind %q, want %q", file, r.ClaimedKind, *want.Kind)
			}
			seen++
			paths += len(r.ClaimedPaths)
			if r.ClaimedTitle != "" {
				titles++
			}
		}
	}
	if seen < 40 || titles < 20 || paths < 10 {
		t.Errorf("%d requests, %d titles and %d paths were compared", seen, titles, paths)
	}
	t.Logf("%d requests, %d titles and %d paths were compared", seen, titles, paths)
}

// readLeniently reads a call some of whose members have other types: each member and item
// that can be read counts.
func readLeniently(raw json.RawMessage, into *saidCall) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return
	}
	_ = json.Unmarshal(members["title"], &into.Title)
	_ = json.Unmarshal(members["kind"], &into.Kind)
	var items []json.RawMessage
	_ = json.Unmarshal(members["locations"], &items)
	for _, item := range items {
		var l struct{ Path any }
		if json.Unmarshal(item, &l) == nil {
			into.Locations = append(into.Locations, l)
		}
	}
	items = nil
	_ = json.Unmarshal(members["content"], &items)
	for _, item := range items {
		var c saidContent
		if json.Unmarshal(item, &c) == nil {
			into.Content = append(into.Content, c)
		}
	}
}
