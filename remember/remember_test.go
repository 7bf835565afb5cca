//go:build cgo

package remember_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/remember"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const ada = 1000

func path(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(filetest.MemoryDir(t), "permd")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "remember.db")
}

func options(path string) remember.Options {
	return remember.Options{Path: path, Now: func() time.Time { return noon }}
}

func open(t testing.TB, o remember.Options) *remember.Store {
	t.Helper()
	s, err := remember.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask is a question about an effect, in the project /p and session s of ada.
func ask(e effects.Effect) *decisions.MemoryQuery {
	return &decisions.MemoryQuery{
		UID: ada, Session: decisions.SessionRef{ID: "s", Conn: 7}, Project: "/p",
		Effect: &e, All: []effects.Effect{e}, Now: noon,
	}
}

func run(words ...string) effects.Effect {
	return effects.Effect{Kind: effects.KindRun, Text: fmt.Sprint(words), Run: &effects.Run{
		Program: words[0], Args: words[1:], Cwd: "/p", Stdin: effects.StdinNone,
	}}
}

func file(kind effects.Kind, path string) effects.Effect {
	return effects.Effect{Kind: kind, Text: path, File: &effects.File{Path: path, AsWritten: path}}
}

func connect(host string, port int, method string) effects.Effect {
	return effects.Effect{Kind: effects.KindConnect, Text: host, Connect: &effects.Connect{
		Host: host, Port: port, Scheme: "https", Method: method,
	}}
}

func use(server, tool, arguments string) effects.Effect {
	return effects.Effect{Kind: effects.KindUse, Text: tool, Use: &effects.Use{
		Server: server, Source: "/p/.mcp.json", Tool: tool, Arguments: []byte(arguments),
	}}
}

func save(t testing.TB, s *remember.Store, d remember.Draft) remember.Choice {
	t.Helper()
	saved, err := s.Save(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return saved[0]
}

// said is what a memory answers: "", "allow", "deny" or both.
func said(t testing.TB, s *remember.Store, q *decisions.MemoryQuery) string {
	t.Helper()
	reject, allow, err := s.Match(q)
	if err != nil && (allow != nil || !errors.Is(err, remember.ErrOff)) {
		t.Fatalf("have %v with an allow %v", err, allow)
	}
	answer := ""
	if allow != nil {
		answer = "allow"
	}
	if reject != nil {
		answer += "deny"
	}
	return answer
}

func TestScopes(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]effects.Effect{
		"of the project": file(effects.KindWrite, "/p/a"), "of no place": use("github", "get_issue", "{}"),
	} {
		t.Run(name, func(t *testing.T) { testScopes(t, e) })
	}
}

func testScopes(t *testing.T, e effects.Effect) {
	at := func(change func(q *decisions.MemoryQuery)) *decisions.MemoryQuery {
		q := ask(e)
		change(q)
		return q
	}
	questions := map[string]*decisions.MemoryQuery{
		"same":             at(func(*decisions.MemoryQuery) {}),
		"other session":    at(func(q *decisions.MemoryQuery) { q.Session.ID = "s2" }),
		"no session":       at(func(q *decisions.MemoryQuery) { q.Session = decisions.SessionRef{} }),
		"other connection": at(func(q *decisions.MemoryQuery) { q.Session.Conn = 8 }),
		"child": at(func(q *decisions.MemoryQuery) {
			q.Session.ID, q.Session.Ancestors = "child", []string{"s"}
		}),
		"grandchild": at(func(q *decisions.MemoryQuery) {
			q.Session.ID, q.Session.Ancestors = "grandchild", []string{"child", "s"}
		}),
		"other project": at(func(q *decisions.MemoryQuery) { q.Project, q.Session.ID = "/p2", "s2" }),
		"no project":    at(func(q *decisions.MemoryQuery) { q.Project, q.Session.ID = "", "s2" }),
		"other person":  at(func(q *decisions.MemoryQuery) { q.UID++ }),
	}
	for scope, want := range map[remember.ScopeKind][]string{
		remember.ForSession:  {"same"},
		remember.ForChildren: {"same", "child", "grandchild"},
		remember.ForProject:  {"same", "other session", "no session", "other connection", "child", "grandchild"},
		remember.ForUser: {"same", "other session", "no session", "other connection", "child", "grandchild",
			"other project", "no project"},
	} {
		for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
			t.Run(string(scope)+" "+string(verdict), func(t *testing.T) {
				s := open(t, options(path(t)))
				save(t, s, remember.Draft{Verdict: verdict, Query: questions["same"], Scope: scope})
				expected := map[string]string{}
				for name := range questions {
					expected[name] = ""
				}
				if scope == remember.ForSession && verdict == decisions.Deny {
					// A reject is a fence for the sessions below.
					want = []string{"same", "child", "grandchild"}
				}
				for _, name := range want {
					expected[name] = string(verdict)
				}
				if scope == remember.ForProject && verdict == decisions.Deny && e.File != nil {
					// What the reject protects is the file, from wherever it is reached.
					expected["other project"], expected["no project"] = "deny", "deny"
				}
				have := map[string]string{}
				for name, q := range questions {
					have[name] = said(t, s, q)
				}
				if diff := cmp.Diff(expected, have); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestNarrowestAllowWidestReject(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	q := ask(use("github", "get_issue", `{"n":1}`))
	ids := map[string]remember.Choice{}
	for name, d := range map[string]remember.Draft{
		"user":    {Verdict: decisions.Allow, Scope: remember.ForUser, Level: 1},
		"project": {Verdict: decisions.Allow, Scope: remember.ForProject, Level: 1},
		"exact":   {Verdict: decisions.Allow, Scope: remember.ForProject},
		"no":      {Verdict: decisions.Deny, Scope: remember.ForSession},
		"never":   {Verdict: decisions.Deny, Scope: remember.ForUser},
	} {
		d.Query = q
		ids[name] = save(t, s, d)
	}
	reject, allow, err := s.Match(q)
	if err != nil || reject == nil || allow == nil || reject.ID != ids["never"].ID || allow.ID != ids["exact"].ID {
		t.Fatalf("have %v, %v, %v", reject, allow, err)
	}
	q = ask(use("github", "get_issue", `{"n":2}`))
	if _, allow, _ := s.Match(q); allow == nil || allow.ID != ids["project"].ID {
		t.Errorf("other arguments: have %v, want the project's", allow)
	}
}

func TestExactAnswersGuardedTags(t *testing.T) {
	t.Parallel()
	recursive := file(effects.KindDelete, "/p/.git/hooks")
	recursive.File.Recursive = true
	for name, tc := range map[string]struct {
		effect effects.Effect
		want   bool
	}{
		"write":            {file(effects.KindWrite, "/p/.envrc"), true},
		"read":             {file(effects.KindRead, "/p/.env"), true},
		"delete":           {file(effects.KindDelete, "/p/.envrc"), true},
		"delete all below": {recursive, false},
		"connect":          {connect("169.254.169.254", 80, effects.MethodGet), true},
		"run":              {run("make", "test"), false},
		"use":              {use("github", "get_issue", `{}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(path(t))
			s := open(t, o)
			save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(tc.effect), Scope: remember.ForUser})
			check := func(s *remember.Store) {
				t.Helper()
				_, allow, err := s.Match(ask(tc.effect))
				if err != nil || allow == nil || allow.Exact != tc.want {
					t.Errorf("have %+v, %v; want exact %v", allow, err, tc.want)
				}
			}
			check(s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			check(open(t, o))
		})
	}
}

func TestNeverRemembered(t *testing.T) {
	t.Parallel()
	s := open(t, remember.Options{Path: path(t), Allowable: func(q *decisions.MemoryQuery) error {
		if q.Effect.Run != nil && q.Effect.Run.Program == "bash" {
			return errors.New("a shell is never remembered")
		}
		return nil
	}, Now: func() time.Time { return noon }})
	dynamic := run("echo", "a", effects.DynamicWord)
	nowhere := run("make")
	nowhere.Run.Cwd = ""
	unread := run("build.sh")
	unread.Run.Script = &effects.Script{Path: "/p/build.sh"}
	for name, tc := range map[string]struct {
		draft  remember.Draft
		reject bool // a reject may be remembered
	}{
		"unknown":          {draft: remember.Draft{Query: ask(effects.Effect{Kind: effects.KindUnknown, Why: "?"})}},
		"question":         {draft: remember.Draft{Query: ask(effects.Effect{Kind: effects.KindQuestion})}},
		"mode":             {draft: remember.Draft{Query: ask(effects.Effect{Kind: effects.KindMode})}},
		"state":            {draft: remember.Draft{Query: ask(effects.Effect{Kind: effects.KindState})}},
		"no kind":          {draft: remember.Draft{Query: ask(effects.Effect{})}},
		"no effect":        {draft: remember.Draft{Query: &decisions.MemoryQuery{UID: ada}}},
		"no query":         {draft: remember.Draft{}},
		"run without run":  {draft: remember.Draft{Query: ask(effects.Effect{Kind: effects.KindRun})}},
		"file without one": {draft: remember.Draft{Query: ask(effects.Effect{Kind: effects.KindRead})}},
		"relative path":    {draft: remember.Draft{Query: ask(file(effects.KindRead, "a"))}},
		"no host":          {draft: remember.Draft{Query: ask(connect("", 443, effects.MethodGet))}},
		"no tool":          {draft: remember.Draft{Query: ask(use("github", "", `{}`))}},
		"expired":          {draft: remember.Draft{Query: ask(run("ls")), Expires: noon}},
		"dynamic word":     {draft: remember.Draft{Query: ask(dynamic)}, reject: false},
		"unknown folder":   {draft: remember.Draft{Query: ask(nowhere)}, reject: true},
		"unread script":    {draft: remember.Draft{Query: ask(unread)}, reject: true},
		"not allowable":    {draft: remember.Draft{Query: ask(run("bash", "-c", "ls"))}, reject: true},
	} {
		t.Run(name, func(t *testing.T) {
			for verdict, ok := range map[decisions.Verdict]bool{
				decisions.Allow: false, decisions.Deny: tc.reject, decisions.Ask: false, "": false,
			} {
				d := tc.draft
				d.Verdict, d.Scope = verdict, remember.ForUser
				_, err := s.Save(t.Context(), d)
				if ok != (err == nil) || err != nil && !errors.Is(err, remember.ErrNotRemembered) {
					t.Errorf("%q: have %v, want stored %v", verdict, err, ok)
				}
			}
		})
	}
	for _, scope := range []remember.ScopeKind{remember.ForSession, remember.ForChildren, remember.ForProject, "", "world"} {
		q := ask(run("ls"))
		q.Session, q.Project = decisions.SessionRef{}, ""
		d := remember.Draft{Verdict: decisions.Allow, Query: q, Scope: scope}
		if _, err := s.Save(t.Context(), d); !errors.Is(err, remember.ErrNotRemembered) {
			t.Errorf("scope %q without its key: have %v", scope, err)
		}
	}
	if n := s.Status().Allows; n != 0 {
		t.Errorf("%d allows were stored", n)
	}
}

func TestSaveIsAllOrNothing(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	good := remember.Draft{Verdict: decisions.Allow, Query: ask(run("ls")), Scope: remember.ForProject}
	bad := remember.Draft{Verdict: decisions.Allow, Query: ask(effects.Effect{Kind: effects.KindMode}), Scope: remember.ForProject}
	late := remember.Draft{Verdict: decisions.Allow, Query: ask(run("wc")), Scope: "nowhere"}
	for name, d := range map[string]remember.Draft{"kind": bad, "scope": late} {
		if _, err := s.Save(t.Context(), good, d); err == nil {
			t.Fatalf("%s: no error", name)
		}
		if have := said(t, s, good.Query); have != "" || len(s.List(nil)) != 0 {
			t.Fatalf("%s: half of it was stored", name)
		}
	}
	both, err := s.Save(t.Context(), good, remember.Draft{Verdict: decisions.Allow, Query: ask(run("wc")), Scope: remember.ForProject}, good)
	if err != nil {
		t.Fatal(err)
	}
	if len(both) != 3 || both[0].ID != both[2].ID || both[0].ID == both[1].ID {
		t.Errorf("have %v", both)
	}
	again := save(t, s, good)
	if again.ID != both[0].ID || len(s.List(nil)) != 2 {
		t.Errorf("the same choice was stored twice")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), good); !errors.Is(err, remember.ErrClosed) {
		t.Errorf("after closing: have %v", err)
	}
	if n := len(open(t, o).List(nil)); n != 2 {
		t.Errorf("after a restart: have %d choices, want 2", n)
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	in := func(uid uint32, conn uint64, id string) *decisions.MemoryQuery {
		q := ask(run("make"))
		q.UID, q.Session.Conn, q.Session.ID = uid, conn, id
		return q
	}
	questions := []*decisions.MemoryQuery{in(ada, 7, "s"), in(ada, 7, "s2"), in(ada, 8, "s"), in(ada+1, 7, "s"), in(ada, 0, "s")}
	for _, q := range questions {
		save(t, s, remember.Draft{Verdict: decisions.Allow, Query: q, Scope: remember.ForChildren})
	}
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("wc")), Scope: remember.ForProject})
	check := func(s *remember.Store, want string) {
		t.Helper()
		have := ""
		for _, q := range append(questions, ask(run("wc"))) {
			if said(t, s, q) == "allow" {
				have += "+"
			} else {
				have += "-"
			}
		}
		if have != want {
			t.Errorf("have %s, want %s", have, want)
		}
	}
	check(s, "++++++")
	for _, step := range []struct {
		end  func()
		want string
	}{
		{func() { s.EndSession(decisions.Owner{UID: ada, Conn: 7}, "s3") }, "++++++"},
		{func() { s.EndSession(decisions.Owner{UID: ada, Conn: 7}, "s") }, "-+++++"},
		{func() { s.EndConnection(decisions.Owner{UID: ada, Conn: 7}) }, "--++++"},
		{func() { s.EndConnection(decisions.Owner{UID: ada}) }, "--++++"},
	} {
		step.end()
		check(s, step.want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, o), "----++")
}
