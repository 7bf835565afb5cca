package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

// everywhere is the secret that the calls of TestSecretsNowhere have. It has no form by
// which a token is recognised.
const everywhere = "canaryofthesecrets7"

// secretInputs are inputs of tools with a secret that the names of members tell.
var secretInputs = []oneCall{
	{"shop", "start", `{"command":"frob","env":{"API_KEY":"CANARY","HOME":"/home/ana"}}`},
	{"shop", "fetch", `{"url":"https://ana:CANARY@h.example/?token=CANARY","headers":{"Authorization":"Bearer CANARY","Cookie":"sid=CANARY"}}`},
	{"shop", "fetch", `{"url":"https://h.example/x?a=1&access_token=CANARY"}`},
	{"shop", "post", `{"body":{"user":"ana","password":"CANARY","tokens":["CANARY"]}}`},
	{"shop", "start", `{"args":["--password","CANARY","--token=CANARY"],"command":"frob"}`},
	{"shop", "connect", `{"dsn":"postgres://ana:CANARY@db.example/shop","client_secret":"CANARY"}`},
	{"shop", "login", `{"username":"ana","passphrase":"CANARY","sessionId":"CANARY"}`},
}

// secretCalls are the calls: shell commands, and inputs of other tools.
func secretCalls(t *testing.T) (list []oneCall) {
	t.Helper()
	for _, command := range effectstest.SecretCommands() {
		input, err := json.Marshal(map[string]string{"command": strings.ReplaceAll(command, "CANARY", everywhere)})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, oneCall{tool: "Bash", input: string(input)})
	}
	for _, c := range secretInputs {
		c.input = strings.ReplaceAll(c.input, "CANARY", everywhere)
		list = append(list, c)
	}
	return list
}

func (c oneCall) toolName() string { return c.tool }

// wantNoSecret searches all files of the daemon's folders.
func (d *testDaemon) wantNoSecret(t *testing.T, when string) {
	t.Helper()
	files := 0
	for _, root := range []string{d.data(""), d.run, filepath.Join(d.home, ".config"), filepath.Join(d.home, ".cache"), filepath.Join(d.home, ".local", "state")} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil // it is gone, or a socket
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil
			}
			files++
			if i := bytes.Index(data, []byte(everywhere)); i >= 0 {
				t.Errorf("%s: %s has a secret: %q", when, path, data[max(0, i-160):min(len(data), i+40)])
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 4 {
		t.Errorf("%s: only %d files", when, files)
	}
	if text := d.output.String(); strings.Contains(text, everywhere) {
		t.Errorf("%s: the daemon has printed a secret", when)
	}
}

// TestSecretsNowhere asks about calls with secrets over every protocol and hook, each about
// a sample, lets some be remembered, and searches the bytes of all files, answers and
// commands.
func TestSecretsNowhere(t *testing.T) {
	if testing.Short() {
		t.Skip("long: every form of a secret over every protocol")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.listensHTTP(t, "unix")
	d.policy(t, "some.rego", `deny contains "not this" if input.effect.program == "openssl"
ask contains {"reason": "look", "remember": false} if input.effect.program == "htpasswd"`)
	project := d.project(t, map[string]string{"main.go": "package main\n"})
	d.start(t)
	w := d.session(t, project)
	var heard lockedBuffer
	w.lines = bufio.NewReaderSize(io.TeeReader(w.Conn, &heard), 1<<20)
	s := &speaker{wire: w, http: d.http(t), dir: project}
	s.say(t, "permd/session", map[string]any{"sessionId": "aap", "cwd": project, "client": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}})

	calls := secretCalls(t)
	for name, ask := range protocols {
		for _, c := range testload.SampleOf(t, 30, calls, oneCall.toolName) {
			if got := ask(s, t, c); strings.HasPrefix(got, "refused") {
				t.Errorf("%s: %s: %s", name, c.input, got)
			}
		}
	}
	kept, answered := 0, testload.SampleOf(t, 120, calls, oneCall.toolName)
	for i, c := range answered {
		r := s.say(t, "permd/decide", map[string]any{"sessionId": "s1", "calls": []any{c.native(fmt.Sprint("kept-", i))}})
		if len(r.Result.Decisions) != 1 || r.Result.Decisions[0].Verdict != "ask" {
			continue
		}
		q := r.Result.Decisions[0]
		answer := map[string]any{"decisionId": q.ID, "verdict": "deny", "scope": "project"}
		if len(q.Widths) > 0 && i%2 == 0 {
			answer = map[string]any{"decisionId": q.ID, "verdict": "allow", "width": q.Widths[len(q.Widths)-1].ID, "scope": "user"}
		}
		if r := s.say(t, "permd/choose", answer); r.Error.Code == 0 {
			kept++
		}
	}
	if kept < len(answered)/5 {
		t.Errorf("%d choices of %d were kept", kept, len(answered))
	}
	commands := calls[:len(effectstest.SecretCommands())]
	d.secretsOverHooks(t, project, commands)
	d.secretsOverProxy(t, project, commands)
	if strings.Contains(heard.String(), everywhere) {
		t.Errorf("an answer has a secret: %s", around(heard.String()))
	}
	newest := func() int64 { recs := d.records(t); return recs[len(recs)-1].Seq }
	for n := 0; newest() < 1100; n++ { // the journal's index of names is of 1024 decisions
		var list []any
		for i, c := range testload.Sample(t, 32, calls) {
			list = append(list, c.native(fmt.Sprint("again-", n, "-", i)))
		}
		s.say(t, "permd/decide", map[string]any{"sessionId": "s1", "calls": list})
	}
	eventually.Holds(t, "the index of names is made", func() bool { return d.namedSpans(t) > 0 })
	d.wantNoSecret(t, "while it runs")

	recs := d.records(t)
	lines := []string{"log list", "log list --json", "remember list", "remember list --json", "remember export", "status", "status --json", "doctor"}
	for i := 0; i < len(recs); i += 1 + len(recs)/12 {
		id := recs[i].Decision.ID
		lines = append(lines, "log show "+id, "log show --json "+id, "explain "+id)
	}
	for _, line := range lines {
		out, err := d.command(strings.Fields(line)...).CombinedOutput()
		if len(out) == 0 || strings.Contains(string(out), everywhere) {
			t.Errorf("permd %s: %v, %d bytes: %s", line, err, len(out), around(string(out)))
		}
	}
	for _, path := range []string{"/metrics", "/health", "/status"} {
		if got := s.http.send(t, "GET", path, ""); strings.Contains(got.Body, everywhere) {
			t.Errorf("%s has a secret", path)
		}
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.wantNoSecret(t, "when it has ended")
}

// namedSpans returns how many spans the journal's index of names has.
func (d *testDaemon) namedSpans(t *testing.T) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+d.data("decisions.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM names WHERE decided IS NOT NULL").Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}

// around returns the text around the first secret in it.
func around(text string) string {
	i := max(strings.Index(text, everywhere), 0)
	return text[max(0, i-200):min(len(text), i+60)]
}

// secretsOverHooks asks by each harness's hook, each about other commands.
func (d *testDaemon) secretsOverHooks(t *testing.T, project string, commands []oneCall) {
	t.Helper()
	for _, h := range hookShell {
		for _, c := range testload.Sample(t, 2, commands) {
			var in struct{ Command string }
			if err := json.Unmarshal([]byte(c.input), &in); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(in.Command)
			if err != nil {
				t.Fatal(err)
			}
			command := string(text[1 : len(text)-1])
			if strings.Contains(h.in, `\"COMMAND\"`) {
				again, _ := json.Marshal(command)
				command = string(again[1 : len(again)-1])
			}
			out := d.hook(t, h.harness, hookInput(h.in, project, command))
			if said := string(out.Stdout) + out.Stderr; strings.Contains(said, everywhere) {
				t.Errorf("%s: %s: the hook says a secret: %s", h.name, in.Command, around(said))
			}
		}
	}
}

// secretsOverProxy lets an agent ask through permd acp. The person sees the request as the
// agent made it; what permd adds, prints and keeps has no secret.
func (d *testDaemon) secretsOverProxy(t *testing.T, project string, commands []oneCall) {
	t.Helper()
	m := d.mirror(t, project, "claude-agent-acp", 1)
	for i, c := range testload.Sample(t, 20, commands) {
		var in struct{ Command string }
		if err := json.Unmarshal([]byte(c.input), &in); err != nil {
			t.Fatal(err)
		}
		m.say(mirrorAsks(i+1, in.Command))
		got := m.hear()
		if !strings.Contains(got, `"method"`) {
			continue // decided without the person
		}
		option := []string{"yes", "no", "permd-width-w1"}[i%3]
		if !strings.Contains(got, option) {
			option = "no"
		}
		var request struct{ Params map[string]any }
		if err := json.Unmarshal([]byte(got), &request); err != nil {
			t.Fatal(err)
		}
		delete(request.Params, "toolCall") // the agent's own: the command, as title and input
		if left := encoded(t, request.Params); strings.Contains(left, everywhere) {
			t.Errorf("%s: permd adds a secret: %s", in.Command, around(left))
		}
		m.picks(i+1, option)
	}
	if text := m.stderr.String(); strings.Contains(text, everywhere) {
		t.Errorf("permd acp prints a secret: %s", around(text))
	}
}
