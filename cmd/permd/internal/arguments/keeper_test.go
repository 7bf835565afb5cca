package arguments

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// shell is what effects say of shell text.
var shell = &content{members: []string{"command"}}

// put queues a call as Note does.
func (k *Keeper) put(id, input string, from *effects.Call) {
	e := entry{id: id, at: k.o.Now(), from: from, of: shell, call: &effects.Call{Tool: effects.Tool{Name: "Bash"}, Input: strictjson.Value(input), Cwd: "/p"}}
	k.add(e, 0)
}

// TestStored: a call is the same after it was stored, with each of its members set.
func TestStored(t *testing.T) {
	call := &effects.Call{
		ID: "Bash__7", Protocol: "acp", Tool: effects.Tool{Name: "x", Server: "s", Version: "2", Destructive: true, Unlisted: true},
		Declared: &effects.DeclaredTool{Name: "x", Members: []effects.DeclaredMember{{Name: "a", Means: "read"}}},
		Input:    strictjson.Value(`{"a":[1,{"b":"ü \n"}]}`), Credentials: effects.Credentials{Secrets: []string{"K"}, Authorizations: []effects.Authorization{{ID: "i", Scopes: []string{"s"}}}},
		ReplyTo: "https://h:1", InputFrom: "input", Agent: effects.Party{Name: "a", Version: "1"}, Client: effects.Party{Name: "c"}, Cwd: "/p", Roots: []string{"/r"},
		Claims: effects.Claims{Kind: "execute", Title: "t", Prompt: "p", User: "u", TraceID: "i", Locations: []effects.Location{{Path: "/l", From: "f"}},
			Diffs: []effects.Diff{{Path: "/d", OldPath: "/o", Operation: "add", From: "f"}}, Texts: []string{"x"}, Meta: strictjson.Value(`{"claudeCode":{"toolName":"x"}}`), Status: "pending", Options: []string{"o"}, Only: true},
		Marks: []effects.Mark{{Kind: effects.KindMode, Why: "w", From: "f"}}, Defects: []effects.Defect{{Code: "c", At: "a", Text: "t"}}, Incomplete: "i", Confined: "c",
		LiveShell: true, Folders: []string{"/f", ""}, Activated: []string{""}, Before: effects.Disturbance{Paths: []string{"/b"}, Trees: []string{""}, Written: []string{"/w/"}, Unknown: true},
		Announced: &effects.Call{Tool: effects.Tool{Name: "Read"}},
	}
	text, why := encodeCall(&entry{call: call, from: call, of: &content{members: []string{"a"}}})
	var got effects.Call
	if err := strictjson.Unmarshal(text, &got); err != nil || why != "" {
		t.Fatalf("%v %s", err, why)
	}
	if diff := cmp.Diff(*call, got); diff != "" {
		t.Errorf("-noted +read\n%s", diff)
	}
}

// TestStoredMeta: of a call with other values in its _meta only tool and input are kept.
func TestStoredMeta(t *testing.T) {
	const value = "a-value-of-meta"
	for _, meta := range []string{`{"m":"` + value + `"}`, `{"claudeCode":{"toolName":"Bash","toolResponse":"` + value + `"}}`, `{"claudeCode":"` + value + `"}`, `["` + value + `"]`} {
		of := effects.Claims{Meta: strictjson.Value(meta)}
		for _, call := range []*effects.Call{{Claims: of}, {Announced: &effects.Call{Claims: of}}} {
			call.Tool, call.Input = effects.Tool{Name: "Bash"}, strictjson.Value(`{"command":"ls"}`)
			text, why := encodeCall(&entry{call: call, from: call, of: shell})
			if why != hasMeta || strings.Contains(string(text), value) || !strings.Contains(string(text), `"command":"ls"`) {
				t.Errorf("%s: %s %q", meta, text, why)
			}
		}
	}
}

// TestContent: of the input only what effects were read from is kept, and of a tool that permd
// cannot look into that only to be shown.
func TestContent(t *testing.T) {
	const value = "canary7of8the9content"
	for _, tt := range []struct {
		of         content
		input      string
		kept, says string
	}{
		{content{members: []string{"file_path"}}, `{"file_path":"/p/a","content":"` + value + `","n":7,"edits":[{"new":"` + value + `"}],"o":{"x":"` + value + `"}}`,
			`{"file_path":"/p/a","content":"","n":7,"edits":[],"o":{}}`, ""},
		{content{uses: true, whole: true}, `{"headers":[{"name":"Authorization","value":"` + value + `"}],"n":7}`, `{"headers":[],"n":7}`, ofTool},
		{content{uses: true, whole: true}, `{"id":7,"all":true}`, `{"id":7,"all":true}`, ""},
		{content{members: []string{"file_path"}, secretFile: true}, `{"file_path":"/p/.env","content":"A=` + value + `"}`, "", secret},
		{content{members: []string{"command"}}, `["` + value + `"]`, `[]`, ""},
	} {
		for _, announced := range []bool{false, true} {
			call := &effects.Call{Tool: effects.Tool{Name: "x"}, Input: strictjson.Value(tt.input)}
			if announced {
				call = &effects.Call{Tool: call.Tool, Input: strictjson.Value(`{}`), Announced: call}
			}
			text, why := encodeCall(&entry{call: call, of: &tt.of})
			if why != tt.says || strings.Contains(string(text), value) || !announced && !strings.Contains(string(text), tt.kept) {
				t.Errorf("%s: %s %q", tt.input, text, why)
			}
		}
	}
}

// TestContentOf: effects are read from members of the input, and not from what else a call has.
func TestContentOf(t *testing.T) {
	var last *decisions.Deliberation
	e := deciding(t, func(d *decisions.Deliberation) { last = d })
	for _, tt := range []struct {
		call    effects.Call
		members []string
		uses    bool
	}{
		{effects.Call{Tool: effects.Tool{Name: "Bash"}, Input: strictjson.Value(`{"command":"ls","description":"x"}`)}, []string{"command"}, false},
		{effects.Call{Tool: effects.Tool{Name: "Write"}, Input: strictjson.Value(`{"file_path":"/p/a","content":"x"}`)}, []string{"file_path"}, false},
		{effects.Call{Tool: effects.Tool{Name: "fill", Server: "s"}, Input: strictjson.Value(`["x"]`)}, nil, true},
		{effects.Call{Tool: effects.Tool{Name: "fill", Server: "s"}, Input: strictjson.Value(`{"value":"x"}`)}, nil, true},
	} {
		tt.call.Protocol, tt.call.Agent, tt.call.Cwd = "permd", effects.Party{Name: "claude-agent-acp"}, "/p"
		e.Decide(t.Context(), &decisions.Request{Call: tt.call})
		if c := contentOf(last); !slices.Equal(c.members, tt.members) || c.whole || c.uses != tt.uses {
			t.Errorf("%s: %+v", tt.call.Input, c)
		}
	}
}

// TestOverhead: a call that the file has costs a request next to nothing, and another one little.
func TestOverhead(t *testing.T) {
	k := Keep(Options{Dir: filepath.Join(t.TempDir(), "arguments"), Log: slog.New(slog.DiscardHandler), Now: time.Now})
	defer k.Close()
	var last *decisions.Deliberation
	e := deciding(t, func(d *decisions.Deliberation) { last = d })
	request := func(command string) *decisions.Request {
		return &decisions.Request{Call: effects.Call{
			Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Input: strictjson.Value(`{"command":"` + command + `"}`), Agent: effects.Party{Name: "claude-agent-acp"}, Cwd: "/p",
		}}
	}
	note := func() float64 {
		return testing.AllocsPerRun(200, func() { k.Note(last) })
	}
	e.Decide(t.Context(), request("ls"))
	k.Note(last)
	k.Flush(t.Context())
	if k.written(last.Call()) == nil {
		t.Fatal("it is not known")
	}
	k.queue = slices.Grow(k.queue, maxQueued) // as it is after a while
	if n := note(); n > 0 {
		t.Errorf("a known call costs %v allocations", n)
	}
	e.Decide(t.Context(), request("wc x"))
	k.Flush(t.Context())
	k.queue = slices.Grow(k.queue, maxQueued)
	if n := note(); n > 5 {
		t.Errorf("a new call costs %v allocations", n)
	}
}

// TestKeeper: calls are found by their decisions, those with a secret only as they may be
// shown, and files are removed when they are too old.
func TestKeeper(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := Options{Dir: dir, MaxAge: 80 * time.Hour, Log: slog.New(slog.DiscardHandler), Now: time.Now}
		k := Keep(o)
		same := new(effects.Call)
		k.put("a", `{"command":"ls"}`, same)
		k.put("b", `{"command":"ls"}`, new(effects.Call))
		k.put("c", `{"command":"export API_KEY=canaryofthekeeper7"}`, new(effects.Call))
		k.put("d", `{"command":"`+strings.Repeat("x", maxCall)+`"}`, new(effects.Call))
		k.Flush(t.Context())
		if k.written(same) == nil {
			t.Error("a call that was written is not known")
		}
		k.mu.Lock()
		k.queue = append(k.queue, entry{id: "e", at: time.Now(), from: same, of: shell}, entry{id: "f", at: time.Now()})
		k.mu.Unlock()
		k.Flush(t.Context())
		time.Sleep(11 * time.Hour) // another file
		k.mu.Lock()
		k.queue = append(k.queue, entry{id: "g", at: time.Now(), of: shell, from: &effects.Call{Input: strictjson.Value(`{"command":"ls"}`)}})
		k.mu.Unlock()
		k.Flush(t.Context())
		kept, err := Read(dir)
		if err != nil || kept.Damaged != 0 || len(kept.of) != 7 {
			t.Fatalf("%+v, %v", kept, err)
		}
		for id, want := range map[string]string{"a": "", "b": "", "c": secret, "d": tooLong, "e": "", "f": notAlone, "g": ""} {
			c, _ := kept.Of(id)
			if c == nil || c.Why != want || want == "" && string(c.Input) != `{"command":"ls"}` {
				t.Errorf("%s: %+v, want %q", id, c, want)
			}
		}
		if c, _ := kept.Of("c"); !strings.Contains(string(c.Input), "***") {
			t.Errorf("it is shown as %s", c.Input)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*"+suffix))
		if len(files) != 2 {
			t.Errorf("there are %d files", len(files))
		}
		for _, f := range files {
			if text, err := os.ReadFile(f); err != nil || strings.Contains(string(text), "canaryofthe") {
				t.Errorf("%s %v", text, err)
			}
		}
		time.Sleep(70*time.Hour + time.Minute) // the first one is 81 hours old
		synctest.Wait()
		if files, _ := filepath.Glob(filepath.Join(dir, "*"+suffix)); len(files) != 1 {
			t.Errorf("there are %d files after %s", len(files), o.MaxAge)
		}
		k.Close()
		k.Flush(t.Context()) // returns
		if c, _ := (&Kept{}).Of("a"); c != nil {
			t.Error("what is not kept is found")
		}
	})
}

// TestFlushEnds: waiting for a disk that hangs ends with the context, before and after the flush
// has begun.
func TestFlushEnds(t *testing.T) {
	k := &Keeper{flushes: make(chan chan struct{}), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-k.flushes
		cancel()
	}()
	k.Flush(ctx)
	k.Flush(ctx)
}

// TestForgottenMeanwhile: a call that the file has is found also by a decision that was noted
// before so many others were written that it is no longer known.
func TestForgottenMeanwhile(t *testing.T) {
	dir := t.TempDir()
	k := Keep(Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	defer k.Close()
	var last *decisions.Deliberation
	e := deciding(t, func(d *decisions.Deliberation) { last = d })
	e.Decide(t.Context(), &decisions.Request{Call: effects.Call{
		Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Input: strictjson.Value(`{"command":"ls"}`), Agent: effects.Party{Name: "claude-agent-acp"}, Cwd: "/p",
	}})
	k.put("first", `{"command":"ls"}`, last.Call())
	k.Flush(t.Context())
	k.mu.Lock()
	for i := range maxLatest { // what waits when the decision is noted
		k.queue = append(k.queue, entry{id: fmt.Sprint(i), from: new(effects.Call), of: shell, call: &effects.Call{Input: strictjson.Value(fmt.Sprintf(`{"command":"ls %d"}`, i))}})
	}
	k.mu.Unlock()
	k.Note(last)
	k.Flush(t.Context())
	kept, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := kept.Of(last.ID); c == nil || c.Why != "" {
		t.Errorf("%+v", c)
	}
}

// TestSteadyNotes: calls are written while there is never a pause between decisions.
func TestSteadyNotes(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		k := Keep(Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Now: time.Now})
		defer k.Close()
		for i := range 20 {
			k.put(fmt.Sprint(i), `{"command":"ls"}`, new(effects.Call))
			time.Sleep(flushEvery / 2)
			synctest.Wait()
			kept, err := Read(dir)
			if err != nil || len(kept.of) < i-1 {
				t.Fatalf("%d of %d are written, %v", len(kept.of), i+1, err)
			}
		}
	})
}

// TestMovedAway: nothing takes the place of a data folder that was moved away, and nothing is
// written to another one.
func TestMovedAway(t *testing.T) {
	data := filepath.Join(t.TempDir(), "permd")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	k := Keep(Options{Dir: Dir(data), Log: slog.New(slog.DiscardHandler), Now: time.Now})
	defer k.Close()
	if err := os.Rename(data, data+".x"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // without a folder, and with another one
		k.put("a", `{"command":"ls"}`, new(effects.Call))
		k.Flush(t.Context())
		if err := k.SaveRevision(&Revision{Digest: "d"}, time.Now(), 0); err == nil {
			t.Error("rules are kept")
		}
		if names, _ := os.ReadDir(data); len(names) > 0 {
			t.Errorf("%v is written", names)
		}
		if err := os.Mkdir(data, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Remove(data), os.Rename(data+".x", data)); err != nil {
		t.Fatal(err)
	}
	if err := k.SaveRevision(&Revision{Digest: "d"}, time.Now(), 0); err != nil {
		t.Errorf("back in its place: %v", err)
	}
}

// TestRevisions: the rules of a time are found, and there are not more than the bounds.
func TestRevisions(t *testing.T) {
	data, from := t.TempDir(), t.TempDir()
	dir := Dir(data)
	k := Keep(Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	defer k.Close()
	if err := os.MkdirAll(filepath.Join(from, "policy.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range maxRevisions + 5 {
		if err := os.WriteFile(filepath.Join(from, "policy.d", "rules.yaml"), fmt.Appendf(nil, "# %d", i), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ReadRevision(fmt.Sprintf("%016d-more", i), "", from)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // as after a restart
			if err := k.SaveRevision(r, at.Add(time.Duration(i)*time.Hour), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if names, _ := segments(revisionsDir(dir)); len(names) != maxRevisions {
		t.Errorf("%d revisions", len(names))
	}
	for hour, want := range map[int]string{4: "", 5: "# 5", 40: "# 40", 4000: "# 68"} {
		r, _, _, err := RevisionAt(dir, at.Add(time.Duration(hour)*time.Hour+time.Minute))
		if err != nil || (r == nil) != (want == "") {
			t.Fatalf("%d: %+v %v", hour, r, err)
		}
		if r != nil && string(r.Files[0].Text) != want {
			t.Errorf("%d: %s", hour, r.Files[0].Text)
		}
	}
	bad := Revision{Files: []RevisionFile{{"config", "../x", nil}}}
	if err := bad.Restore(t.TempDir()); err == nil {
		t.Error("a file outside of the folder is written")
	}
}

// FuzzRead: no file breaks the reader.
func FuzzRead(f *testing.F) {
	call, _ := json.Marshal(effects.Call{Tool: effects.Tool{Name: "x"}}, stored())
	l := line{ID: "a", Number: 1, Call: call}
	f.Add(l.append(nil))
	f.Add([]byte("{\"id\":\"a\",\"n\":1}\n{\"id\":\"a\",\"why\":\"x\",\"call\":{}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k := &Kept{of: map[string]reference{}}
		numbered := map[uint32]int32{}
		for l := range strings.Lines(string(text)) {
			k.add([]byte(l), numbered)
		}
		for id := range k.of {
			if c, _ := k.Of(id); c == nil {
				t.Error("a decision has no call")
			}
		}
	})
}
