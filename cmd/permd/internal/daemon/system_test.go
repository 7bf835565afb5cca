package daemon

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/cmd/permd/internal/userrules"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
)

// Two people who know nothing of each other.
const ana, bob = 4701, 4702

// systemWorld is a daemon for several people, in this process.
type systemWorld struct {
	*daemon
	methods, admin socket.Methods
	conns          map[uint32]*socket.Conn // of each user
}

// newSystemWorld starts the daemon, with settings of the organisation if there are any.
func newSystemWorld(t *testing.T, settings ...string) *systemWorld {
	t.Helper()
	root := t.TempDir()
	dirs, err := xdg.Find(xdg.Env{System: root, Getenv: func(string) string { return "" }}, xdg.Options{System: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dirs.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range settings {
		if err := errors.Join(os.MkdirAll(dirs.Org, 0o755), os.WriteFile(filepath.Join(dirs.Org, "permd.toml"), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := openDaemon(t.Context(), dirs, true, slog.New(slog.DiscardHandler), nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	d.keepArguments()
	return &systemWorld{daemon: d, methods: d.engine.Methods(), admin: d.adminMethods(nil, d.reloadForTest), conns: map[uint32]*socket.Conn{}}
}

func (d *daemon) reloadForTest(context.Context, string) (admin.Reloaded, error) {
	return admin.Reloaded{}, nil
}

// call calls a method as a user, and returns the answer or the error as JSON.
func (w *systemWorld) call(t *testing.T, of socket.Methods, uid uint32, method, params string) (answer string, ok bool) {
	t.Helper()
	c := w.conns[uid]
	if c == nil {
		c = &socket.Conn{ID: uint64(uid) + 1, Peer: decisions.Peer{UID: uid, GID: uid, PID: int32(os.Getpid())}}
		w.conns[uid] = c
		w.loadRules(t.Context(), uid) // as the server does
	}
	if of[method] == nil {
		t.Fatalf("there is no method %s", method)
	}
	run, err := of[method](c, strictjson.Value(params))
	var result any
	if err == nil && run != nil {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		result, err = run(ctx)
	}
	if err != nil {
		return err.Error(), false
	}
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), true
}

// must is call of a method that has to succeed.
func (w *systemWorld) must(t *testing.T, of socket.Methods, uid uint32, method, params string) string {
	t.Helper()
	answer, ok := w.call(t, of, uid, method, params)
	if !ok {
		t.Fatalf("%s of %d: %s", method, uid, answer)
	}
	return answer
}

// member returns a member of the first object in the list of an answer.
func member(t *testing.T, answer, list, name string) string {
	t.Helper()
	var all map[string]strictjson.Value
	var objects []map[string]any
	if err := json.Unmarshal([]byte(answer), &all); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(all[list], &objects); err != nil || len(objects) == 0 {
		t.Fatalf("%v: no %s in %s", err, list, answer)
	}
	text, _ := objects[0][name].(string)
	return text
}

// secret is in all that ana does, and in nothing that another may see.
const secret = "anasecret"

// othersTry has, for each method of the management socket, how another person tries to see or
// change what is ana's: DECISION, CHOICE and CHANGE are ids of hers. refused is set if the
// answer must be an error.
var othersTry = map[string]struct {
	params  []string
	refused bool
}{
	admin.MethodStatus:           {params: []string{`{}`}},
	admin.MethodReload:           {params: []string{`{}`}, refused: true},
	admin.MethodList:             {params: []string{`{}`, `{"limit":10,"oldest":true}`, `{"session":"s"}`, `{"agent":"claude-code"}`, `{"project":"/"}`, `{"uid":4701}`, `{"UID":4701}`}},
	admin.MethodShow:             {params: []string{`{"decisionId":"DECISION"}`}, refused: true},
	admin.MethodFind:             {params: []string{`{"prefix":"DECISION"}`, `{"prefix":"0"}`}},
	admin.MethodTally:            {params: []string{`{"filter":{},"by":["agent"]}`, `{"filter":{},"by":["project","tool","host"]}`}},
	admin.MethodFollow:           {params: []string{`{"after":0,"oldest":true,"limit":1}`}},
	explain.Method:               {params: []string{`{"decisionId":"DECISION"}`}, refused: true},
	admin.MethodChoicesList:      {params: []string{`{}`, `{"id":"CHOICE"}`, `{"text":"anasecret"}`, `{"after":"CHOICE"}`, `{"authors":true,"agent":"claude-code"}`}},
	admin.MethodChoicesShow:      {params: []string{`{"choiceIds":["CHOICE"]}`}, refused: true},
	admin.MethodChoicesForget:    {params: []string{`{"choiceIds":["CHOICE"]}`}, refused: true},
	admin.MethodChoicesConfirm:   {params: []string{`{"choiceIds":["CHOICE"]}`}, refused: true},
	admin.MethodChoicesAdd:       {params: []string{`{"verdict":"allow","kind":"run","line":"frob","scope":"user"}`}},
	admin.MethodChoicesChange:    {params: []string{`{"choiceIds":["CHOICE"],"forever":true}`}, refused: true},
	admin.MethodChoicesImport:    {params: []string{`{"choices":[{"verdict":"allow","kind":"run","line":"frob x","scope":"user"}]}`}},
	admin.MethodChoicesTryImport: {params: []string{`{"choices":[{"verdict":"allow","kind":"run","line":"frob y","scope":"user"}]}`}},
	admin.MethodChoicesPreview:   {params: []string{`{"decisionIds":["DECISION"]}`, `{"change":{"choiceIds":["CHOICE"],"forever":true}}`}, refused: true},
	admin.MethodChoicesHistory:   {params: []string{`{}`}},
	admin.MethodChoicesUndo:      {params: []string{`{"changeId":"CHANGE"}`, `{"changeId":"CHANGE","preview":true}`}, refused: true},
	admin.MethodQuestionsList:    {params: []string{`{}`}},
	admin.MethodQuestionsAllow:   {params: []string{`{"decisionId":"DECISION"}`, `{"decisionId":"DECISION","width":"exact","scope":"user"}`}, refused: true},
	admin.MethodQuestionsDeny:    {params: []string{`{"decisionId":"DECISION"}`}, refused: true},
	admin.MethodLock:             {params: []string{`{}`}},
	admin.MethodPause:            {params: []string{`{"seconds":60}`}, refused: true}, // no terminal
	admin.MethodResume:           {params: []string{`{}`}},
	admin.MethodUnlock:           {params: []string{`{}`}, refused: true}, // no terminal
	admin.MethodTrustSet:         {params: []string{`{"root":"/srv","text":"ZGVueTogWw=="}`}, refused: true},
	admin.MethodTrustList:        {params: []string{`{}`, `{"root":"PROJECT"}`}},
	admin.MethodTrustTry:         {params: []string{`{"root":"PROJECT","text":"ZGVueTogWw=="}`, `{"root":"/srv","text":""}`}, refused: true},
	admin.MethodTrustRevoke:      {params: []string{`{"root":"PROJECT"}`}},
	userrules.MethodPush:         {params: []string{`{"files":[{"name":"../4701/policy.d/x.rego","text":""}]}`, `{"files":[{"name":"/x.rego","text":""}]}`}, refused: true},
	userrules.MethodPull:         {params: []string{`{}`}},
	shadow.Method:                {params: []string{`{}`}, refused: true},
	rulecost.Method:              {params: []string{`{}`}, refused: true},
}

// TestOthersSeeNothing goes through every method of the management socket of a daemon for
// several people: another person sees nothing of what is ana's, and changes nothing. Every
// method must have a row.
func TestOthersSeeNothing(t *testing.T) {
	w := newSystemWorld(t)
	for _, name := range slices.Sorted(maps.Keys(w.admin)) {
		if _, ok := othersTry[name]; !ok {
			t.Errorf("%s has no row: what does a person get of it that is another's?", name)
		}
	}
	cwd := filepath.Join(t.TempDir(), secret)
	w.must(t, w.methods, ana, "permd/session", `{"sessionId":"s","cwd":"`+cwd+`","harness":"claude-code","agent":{"name":"claude-code","version":"1"}}`)
	decided := w.must(t, w.methods, ana, "permd/decide",
		`{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"Bash"},"input":{"command":"frob `+secret+`"}}]}`)
	decision := member(t, decided, "decisions", "decisionId")
	choice := member(t, w.must(t, w.admin, ana, admin.MethodChoicesAdd, `{"verdict":"deny","kind":"run","line":"`+secret+`","scope":"user"}`), "choices", "choiceId")
	change := member(t, w.must(t, w.admin, ana, admin.MethodChoicesHistory, `{}`), "changes", "changeId")
	w.must(t, w.admin, ana, admin.MethodTrustSet, `{"root":"`+cwd+`","text":"`+base64.StdEncoding.EncodeToString([]byte("deny:\n  run: [\""+secret+"\"]\n"))+`","seconds":3600}`)
	w.must(t, w.admin, ana, userrules.MethodPush, `{"files":[{"name":"rules.yaml","text":"deny:\n  run: [\"`+secret+`\"]\n"}]}`)
	w.must(t, w.admin, ana, admin.MethodLock, `{"why":"`+secret+`"}`)
	state := func() string {
		var all []string
		for _, m := range []string{admin.MethodChoicesList, admin.MethodQuestionsList, admin.MethodList, admin.MethodChoicesHistory, admin.MethodTrustList, userrules.MethodPull} {
			all = append(all, w.must(t, w.admin, ana, m, `{}`))
		}
		p := w.pauses.Of(ana)
		if p == nil || !p.Locked {
			all = append(all, "not locked")
		}
		return strings.Join(all, "\n")
	}
	before := state()
	if !strings.Contains(before, decision) || !strings.Contains(before, choice) || strings.Count(before, secret) < 4 {
		t.Fatalf("ana's own view lacks something: %s", before)
	}
	fill := strings.NewReplacer("DECISION", decision, "CHOICE", choice, "CHANGE", change, "PROJECT", cwd)
	for _, name := range slices.Sorted(maps.Keys(othersTry)) {
		for _, params := range othersTry[name].params {
			params = fill.Replace(params)
			if name == admin.MethodFollow { // one with something to return, or it waits
				w.must(t, w.methods, bob, "permd/session", `{"sessionId":"b","cwd":"/"}`)
			}
			answer, ok := w.call(t, w.admin, bob, name, params)
			if ok == othersTry[name].refused {
				t.Errorf("%s %s of bob: refused %v: %s", name, params, !ok, answer)
			}
			for _, of := range []string{secret, decision, choice, change, `"uid":4701`} {
				// An error repeats the id that it was asked for.
				if (ok || of == secret) && strings.Contains(answer, of) {
					t.Errorf("%s %s tells bob of ana's %s: %s", name, params, of, answer)
				}
			}
		}
	}
	w.must(t, w.admin, bob, userrules.MethodPush, `{"files":[],"uid":4701}`) // what a message says of uids means nothing
	if after := state(); after != before {
		t.Errorf("bob has changed what is ana's:\n%s\nbefore:\n%s", after, before)
	}
	// Root sees both.
	if all := w.must(t, w.admin, 0, admin.MethodList, `{}`); !strings.Contains(all, decision) || !strings.Contains(all, `"uid":4702`) {
		t.Errorf("root does not see all: %s", all)
	}
	if got := w.must(t, w.admin, 0, admin.MethodChoicesShow, `{"choiceIds":["`+choice+`"]}`); !strings.Contains(got, secret) {
		t.Errorf("root does not see ana's choice: %s", got)
	}
}

// TestPushedRules: what a person pushes is in force for that person alone, as a whole or not at
// all.
func TestPushedRules(t *testing.T) {
	w := newSystemWorld(t)
	for _, uid := range []uint32{ana, bob} {
		w.must(t, w.methods, uid, "permd/session", `{"sessionId":"s","cwd":"/srv","agent":{"name":"claude-code","version":"1"}}`)
	}
	verdict := func(uid uint32) string {
		return member(t, w.must(t, w.methods, uid, "permd/decide", `{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"Bash"},"input":{"command":"frob"}}]}`), "decisions", "verdict")
	}
	push := func(name, text string) string {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return w.must(t, w.admin, ana, userrules.MethodPush, `{"files":[{"name":"`+name+`","text":`+string(raw)+`}]}`)
	}
	want := func(when, ofAna, ofBob string) {
		t.Helper()
		if a, b := verdict(ana), verdict(bob); a != ofAna || b != ofBob {
			t.Errorf("%s: ana %s, bob %s; want %s and %s", when, a, b, ofAna, ofBob)
		}
	}
	want("without rules", "ask", "ask")
	if got := push("rules.yaml", "deny:\n  run: [frob]\n"); !strings.Contains(got, `"stored":true`) || strings.Contains(got, "waiting") {
		t.Fatalf("pushed: %s", got)
	}
	want("pushed", "deny", "ask")
	for name, text := range map[string]string{
		"rules.yaml": "allow:\n  run: [\"frob", "x.rego": "package permd.org\n", "deep/x.rego": "package permd.user\n\nallow contains \"x\" if {",
	} {
		got := push(name, text)
		if !strings.Contains(got, `"stored":false`) || !strings.Contains(got, `"severity":"error"`) || !strings.Contains(got, name) {
			t.Errorf("%s: %s", name, got)
		}
		if strings.Contains(got, w.dirs.Data) {
			t.Errorf("the problems of %s name the daemon's folders: %s", name, got)
		}
		want("after what was refused", "deny", "ask")
	}
	if got := w.must(t, w.admin, ana, userrules.MethodPull, `{}`); !strings.Contains(got, "frob") || strings.Contains(got, "x.rego") {
		t.Errorf("pulled: %s", got)
	}
	info, err := os.Stat(account.UserRules(w.dirs, ana))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	push("rules.yaml", "allow:\n  run: [frob]\n")
	want("allowed", "allow", "ask")
	w.must(t, w.admin, ana, userrules.MethodPush, `{"files":[]}`)
	want("removed", "ask", "ask")
	entries, err := os.ReadDir(filepath.Dir(account.UserRules(w.dirs, ana)))
	if err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v", entries, err)
	}
}
