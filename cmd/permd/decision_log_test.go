package main

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/examples/receivers/decisionlogs/receiver"
	"github.com/permd/permd/internal/eventually"
)

const auditToken = "a-token-of-an-audit-service"

// auditService is the example's receiver, which notes the order of decisions.
type auditService struct {
	*httptest.Server
	db   string
	down atomic.Bool

	mu   sync.Mutex
	seqs []int64 // of decisions, in the order in which they came first
	seen map[string]bool
}

// audited has a daemon send its log to a service.
func (d *testDaemon) audited(t *testing.T) *auditService {
	t.Helper()
	s := &auditService{db: filepath.Join(t.TempDir(), "audit.db"), seen: map[string]bool{}}
	store, err := receiver.Open(s.db)
	if err != nil {
		t.Fatal(err)
	}
	keep, err := receiver.Handler(store, auditToken)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if s.down.Load() || err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		s.note(t, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		keep.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.Close()
		store.Close()
	})
	etc := filepath.Join(d.home, "root", "etc", "permd")
	writeFile(t, filepath.Join(etc, "token"), auditToken+"\n")
	if err := os.Chmod(filepath.Join(etc, "token"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(etc, "opa.yaml"), fmt.Sprintf(`
services:
  audit:
    url: %s
    credentials: {bearer: {token_path: %s}}
decision_logs:
  service: audit
  reporting: {min_delay_seconds: 1, max_delay_seconds: 1}
`, s.URL, filepath.Join(etc, "token")))
	return s
}

// note notes which decisions an upload has.
func (s *auditService) note(t *testing.T, body []byte) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	var events []struct {
		ID     string `json:"decision_id"`
		Custom struct {
			Permd struct {
				Seq   int64
				Added string
			}
		}
	}
	if err := json.NewDecoder(z).Decode(&events); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if e.Custom.Permd.Added == "" && !s.seen[e.ID] {
			s.seen[e.ID] = true
			s.seqs = append(s.seqs, e.Custom.Permd.Seq)
		}
	}
}

func (s *auditService) has(ids ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(ids, func(id string) bool { return !s.seen[id] })
}

// query returns the rows of a query, a line each.
func (s *auditService) query(t *testing.T, q string) (lines []string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+s.db+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(q)
	if err != nil {
		t.Fatalf("%v in\n%s", err, q)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var line strings.Builder
		for i, name := range names {
			fmt.Fprintf(&line, "%s=%v ", name, values[i])
		}
		lines = append(lines, line.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestDecisionLogs: each decision that a client got the answer of arrives at the service, in
// order, although the service is down and the daemon is killed meanwhile; and the queries of
// docs/audit.md find what there is to find.
func TestDecisionLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it kills a daemon; policy/decisionlogs has the quick ones")
	}
	t.Parallel()
	d := newTestDaemon(t)
	s := d.audited(t)
	root := []string{"--root", filepath.Join(d.home, "root")}
	d.start(t, root...)
	project := d.project(t, map[string]string{"main.go": "package main\n", "a/a.go": "package a\n"})

	// What an auditor asks about.
	p := d.asks(t, project)
	l := &late{t, d, p.Client, project}
	asked := p.bash("go build ./a")
	if asked.Verdict != decisions.Ask || asked.Widths == nil {
		t.Fatalf("go build: %+v", asked)
	}
	if _, err := l.say("permd/choose", `{"decisionId":%q,"verdict":"allow","width":%q}`, asked.ID, asked.Widths[0].ID); err != nil {
		t.Fatal(err)
	}
	used, denied := p.bash("go build ./a"), p.bash("rm -rf /")
	if used.By != decisions.ByMemory || denied.Verdict != decisions.Deny {
		t.Fatalf("%+v, %+v", used, denied)
	}
	if _, err := l.say("permd/ran", `{"sessionId":"s","toolCall":{"toolCallId":"u","title":"frob a","kind":"execute","rawInput":{"command":"frob a"},"_meta":{"claudeCode":{"toolName":"Bash"}}},"done":true}`); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the service has what was answered", func() bool {
		return s.has(asked.ID, used.ID, denied.ID) && len(s.query(t, "SELECT 1 FROM decisions WHERE answer = 'allow'")) == 1 &&
			len(s.query(t, "SELECT 1 FROM decisions WHERE outcome = 'unasked'")) == 1
	}, d.output.String)

	// The service is down, and the daemon is killed while it decides and sends.
	for round := range 3 {
		s.down.Store(round != 1)
		askers := make([]asker, 2)
		var all sync.WaitGroup
		for n := range askers {
			askers[n].session = fmt.Sprintf("r%d-%d", round, n)
			w := d.wire(t)
			w.ask(t, declaration(askers[n].session, project))
			all.Go(func() { askers[n].run(w) })
		}
		before := d.status(t).Journal.Last
		eventually.Holds(t, "some are decided", func() bool { return d.status(t).Journal.Last > before+20 })
		d.kill()
		all.Wait()
		d.start(t, root...)
		s.down.Store(false)
		var ids []string
		for i := range askers {
			if askers[i].err != nil {
				t.Fatal(askers[i].err)
			}
			for _, a := range askers[i].answered {
				ids = append(ids, a.ID)
			}
		}
		eventually.Holds(t, fmt.Sprintf("the service has %d decisions", len(ids)), func() bool { return s.has(ids...) }, d.output.String)
	}
	s.mu.Lock()
	if !slices.IsSorted(s.seqs) {
		t.Errorf("they came in another order: %v", s.seqs)
	}
	s.mu.Unlock()
	eventually.Holds(t, "nothing waits", func() bool {
		st := d.status(t).Sent
		return st != nil && st.Waiting == 0 && st.Error == "" && st.Lost == 0
	}, d.output.String)
	if out := d.permd(t, "status"); !strings.Contains(out, "sent to audit: decision ") {
		t.Errorf("permd status says\n%s", out)
	}
	s.wantQueries(t)
}

// wantQueries runs the queries of docs/audit.md.
func (s *auditService) wantQueries(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "audit.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{ // by heading, what one line of each query has; "" for no line
		"Who allowed it":                             {"verdict=ask decided_by=policy answer=allow"},
		"What was denied, by which rule":             {"rule=base.rm-vital"},
		"What ran without being asked about":         {"outcome=unasked"},
		"Which remembered choices are used":          {"text=run go build ./a", "answered_via=client"},
		"Which machines are silent":                  {""},
		"What is missing":                            {"", "", ""},
		"Which rules were in force":                  {"policy="},
		"What was allowed while something was wrong": {""},
	}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		heading, _, _ := strings.Cut(section, "\n")
		queries := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(section, -1)
		if len(queries) != len(want[heading]) {
			t.Errorf("%s: %d queries, want %d", heading, len(queries), len(want[heading]))
			continue
		}
		for i, q := range queries {
			lines := s.query(t, q[1])
			if text := want[heading][i]; text == "" && len(lines) > 0 || text != "" && !strings.Contains(strings.Join(lines, "\n"), text) {
				t.Errorf("%s: want %q, got\n%s", heading, text, strings.Join(lines, "\n"))
			}
		}
		delete(want, heading)
	}
	if len(want) > 0 {
		t.Errorf("the page has no %v", want)
	}
	silent := regexp.MustCompile(`(?s)## Which machines are silent.*?sql\n(.*?)` + "```").FindStringSubmatch(string(page))
	if silent == nil {
		t.Fatal("the page has no query for silent machines")
	}
	if lines := s.query(t, strings.Replace(silent[1], "-1 day", "+1 day", 1)); len(lines) != 1 {
		t.Errorf("a day later one machine is silent, not %q", lines)
	}
}
