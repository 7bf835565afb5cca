package decisionlogs

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/decisionlogs/masking"
	"github.com/permd/permd/policy/source"
)

// book is a journal: records with the numbers from 1.
type book struct {
	mu    sync.Mutex
	chain string
	recs  []*decisions.Record
	cut   int64 // up to here they are gone
	page  int
}

func newBook(n int) *book {
	b := &book{chain: "c1", page: 3}
	b.add(n, "x")
	return b
}

func (b *book) add(n int, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range n {
		seq := int64(len(b.recs) + 1)
		b.recs = append(b.recs, &decisions.Record{Seq: seq, Time: time.Unix(seq, 0), Tool: "Bash", ClaimedTitle: "secret", Decision: decisions.Decision{
			ID: fmt.Sprintf("%s-d%d", b.chain, seq), Verdict: decisions.Deny, Reason: reason,
		}})
	}
}

func (b *book) Read(_ context.Context, from Position) (p Page, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.Replaced = from.Chain != "" && from.Chain != b.chain; p.Replaced || from.Chain == "" {
		from = Position{Chain: b.chain, Base: b.cut}
	}
	p.Start, p.Next = from, from
	for _, r := range b.recs {
		if r.Seq > from.Seq && r.Seq > b.cut && len(p.Entries) < b.page {
			p.Next.Seq, p.Next.ID = r.Seq, r.Decision.ID
			p.Entries = append(p.Entries, Entry{Record: r, After: p.Next})
		}
	}
	if first := max(from.Seq, from.Base); b.cut > first {
		p.Lost, p.LostFrom, p.LostTo = b.cut-first, first+1, b.cut
		p.Next.Seq = max(p.Next.Seq, b.cut)
	}
	return p, nil
}

func (b *book) Waiting(_ context.Context, from Position) (int64, time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := int64(len(b.recs)) - from.Seq; n > 0 {
		return n, b.recs[from.Seq].Time, nil
	}
	return 0, time.Time{}, nil
}

// sent is what is read of an event.
type sent struct {
	ID     string `json:"decision_id"`
	Path   string `json:"path"`
	Input  any    `json:"input"`
	Result any    `json:"result"`
	Erased []any  `json:"erased"`
	Labels map[string]string
	Custom struct {
		Permd struct {
			Seq, Follows            int64
			ClaimedTitle            string `json:"claimedTitle"`
			MaskingFailed, TooLarge bool
			Gap                     map[string]any
		}
	}
}

// service keeps what it was sent.
type service struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request) bool // false: it has answered itself
	events []sent
	sizes  []int
}

func newService(t *testing.T) *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil || s.answer != nil && !s.answer(w, r) {
			return
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		data, err := io.ReadAll(z)
		var events []sent
		if err := errors.Join(err, json.Unmarshal(data, &events, json.MatchCaseInsensitiveNames(true))); err != nil || r.URL.Path != "/logs" || r.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%v: %s %q", err, r.URL, data)
		}
		s.events, s.sizes = append(s.events, events...), append(s.sizes, len(body))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) ids() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.events {
		ids = append(ids, s.events[i].ID)
	}
	return ids
}

// target sends to the service.
func (s *service) target(policy *masking.Policy) *Target {
	return &Target{
		Config: Config{Service: "s", Path: "logs", MinDelay: time.Second, MaxDelay: 8 * time.Second, UploadLimit: defaultUploadLimit}, Policy: policy,
		Post: func(ctx context.Context, path string, body []byte) (*http.Response, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/"+path, bytes.NewReader(body))
			if err != nil {
				return nil, err
			}
			req.Header.Set("Content-Encoding", "gzip")
			return s.Client().Do(req)
		},
	}
}

func newUploader(t *testing.T, b Source, file string, target *Target) *Uploader {
	t.Helper()
	return New(Options{Source: b, File: file, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Target: func() (*Target, error) { return target, nil }})
}

func ids(from, to int) (list []string) {
	for n := from; n <= to; n++ {
		list = append(list, fmt.Sprintf("c1-d%d", n))
	}
	return list
}

// TestOutage: whatever the service answers instead of an acknowledgement, nothing is lost, and
// all comes later, in order; also after a restart.
func TestOutage(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"500": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return false },
		"401": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(401); return false },
		"429": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "100")
			w.WriteHeader(429)
			return false
		},
		"page": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, "\n<!doctype html><p>Log in")
			return false
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				http.Redirect(w, r, "/login", http.StatusFound)
			}
			return false
		},
		"closes": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
		"part": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "o")
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, s, file := newBook(7), newService(t), filepath.Join(t.TempDir(), "state", "f")
			u := newUploader(t, b, file, s.target(nil))
			s.answer = answer
			var last time.Duration
			for range 5 {
				last = u.round(t.Context())
			}
			want := 4 * time.Second // half a second, doubled each time, and at least half of that
			if name == "429" {
				want = 100 * time.Second
			}
			if last < want || last > max(8*time.Second, want) {
				t.Errorf("the next attempt comes after %s", last)
			}
			st := u.Status()
			if st == nil || st.Error == "" || st.FailingSince.IsZero() || st.Waiting != 7 || st.Acknowledged != 0 || u.Counts().Failed != 5 {
				t.Fatalf("%+v, %+v", st, u.Counts())
			}
			s.mu.Lock()
			s.answer = nil
			s.mu.Unlock()
			b.add(2, "x")
			u = newUploader(t, b, file, s.target(nil))
			if wait := u.round(t.Context()); wait < time.Second || wait > 8*time.Second {
				t.Errorf("the next upload comes after %s", wait)
			}
			if got := s.ids(); !slices.Equal(got, ids(1, 9)) {
				t.Errorf("the service has %v", got)
			}
			if st := u.Status(); st.Error != "" || st.Waiting != 0 || st.Acknowledged != 9 || st.AcknowledgedAt.IsZero() {
				t.Errorf("%+v", st)
			}
			for i, e := range s.events {
				if e.Custom.Permd.Seq != int64(i+1) || e.Custom.Permd.Follows != int64(i) || e.Labels["id"] != "c1" {
					t.Errorf("event %d: %+v", i, e)
				}
			}
		})
	}
}

// TestCrashBeforeCursor: what was acknowledged, but not noted, comes again, the same.
func TestCrashBeforeCursor(t *testing.T) {
	b, s, dir := newBook(2), newService(t), t.TempDir()
	file := filepath.Join(dir, "f")
	newUploader(t, b, file, s.target(nil)).round(t.Context())
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b.add(2, "x")
	newUploader(t, b, file, s.target(nil)).round(t.Context())
	if err := os.WriteFile(file, before, 0o600); err != nil {
		t.Fatal(err)
	}
	u := newUploader(t, b, file, s.target(nil))
	u.round(t.Context())
	if got := s.ids(); !slices.Equal(got, append(ids(1, 4), ids(3, 4)...)) {
		t.Errorf("the service has %v", got)
	}
	if fmt.Sprint(s.events[2]) != fmt.Sprint(s.events[4]) {
		t.Errorf("again it is %+v, was %+v", s.events[4], s.events[2])
	}
	// A file that nobody can trust: all is sent again.
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	newUploader(t, b, file, s.target(nil)).round(t.Context())
	if got := s.ids(); len(got) != 10 {
		t.Errorf("the service has %v", got)
	}
}

// TestCursorNotKept: where it cannot be noted how far the log was sent, that is an error.
func TestCursorNotKept(t *testing.T) {
	b, s, dir := newBook(2), newService(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u := newUploader(t, b, filepath.Join(dir, "x", "f"), s.target(nil))
	u.round(t.Context())
	if st := u.Status(); !strings.Contains(st.Error, "how far the log was sent") {
		t.Errorf("%+v", st)
	}
}

// TestGaps: what is gone before it was sent is said in its place, once.
func TestGaps(t *testing.T) {
	b, s, file := newBook(8), newService(t), filepath.Join(t.TempDir(), "f")
	b.cut = 2 // before the log was ever to be sent
	s.answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return false }
	newUploader(t, b, file, s.target(nil)).round(t.Context())
	b.cut = 5
	s.answer = nil
	u := newUploader(t, b, file, s.target(nil))
	u.round(t.Context())
	u.round(t.Context())
	if got := s.ids(); len(got) != 4 || !slices.Equal(got[1:], ids(6, 8)) || s.events[0].Path != GapPath {
		t.Fatalf("the service has %v", got)
	}
	if gap := s.events[0].Custom.Permd.Gap; gap["from"] != 3.0 || gap["to"] != 5.0 || gap["removed"] != 3.0 || gap["reason"] != "removed" {
		t.Errorf("the gap is %v", gap)
	}
	if st := u.Status(); st.Lost != 3 || u.Counts().Lost != 3 {
		t.Errorf("%+v, %+v", st, u.Counts())
	}
	other := &book{chain: "c2", page: 3}
	other.add(1, "x")
	u = newUploader(t, other, file, s.target(nil))
	u.round(t.Context())
	if got := s.ids(); len(got) != 6 || got[5] != "c2-d1" || s.events[4].Custom.Permd.Gap["reason"] != "replaced" {
		t.Errorf("the service has %v", got)
	}
	if st := u.Status(); st.Lost != 3 || st.Acknowledged != 1 {
		t.Errorf("%+v", st)
	}
}

// TestSizes: no upload is larger than the limit or than the service takes, and what is too large
// alone comes without most of it.
func TestSizes(t *testing.T) {
	noise := func(n, seed int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%x", sha256.Sum256(fmt.Append(nil, seed, i)))
		}
		return b.String()
	}
	b, s, file := newBook(0), newService(t), filepath.Join(t.TempDir(), "f")
	b.page = 100
	for i := range 20 {
		b.add(1, noise(15, i))
	}
	b.add(1, noise(300, 20))
	b.add(3, "x")
	target := s.target(nil)
	target.Config.UploadLimit = 4 << 10
	u := newUploader(t, b, file, target)
	u.round(t.Context())
	if got := s.ids(); !slices.Equal(got, ids(1, 24)) {
		t.Fatalf("the service has %v", got)
	}
	if slices.Max(s.sizes) > 4<<10 || len(s.sizes) < 3 {
		t.Errorf("uploads of %v bytes", s.sizes)
	}
	if e := &s.events[20]; !e.Custom.Permd.TooLarge || e.Input != nil || e.Result.(map[string]any)["verdict"] != "deny" || len(e.Erased) != 2 || u.Counts().Shortened != 1 {
		t.Errorf("%+v, %+v", e, u.Counts())
	}
	// A service that takes less than is configured.
	for i := range 5 {
		b.add(1, noise(15, 30+i))
	}
	s.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.ContentLength > 1500 {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
		return r.ContentLength <= 1500
	}
	u.round(t.Context())
	if got := s.ids(); !slices.Equal(got, ids(1, 29)) {
		t.Errorf("the service has %v: %+v", got, u.Status())
	}
}

// policyOf compiles a policy.
func policyOf(t *testing.T, rules string) *masking.Policy {
	t.Helper()
	p, err := masking.Compile([]source.File{{Name: "log.rego", Rel: "log.rego", Data: []byte("package system.log\nimport rego.v1\n" + rules)}}, masking.DefaultMask, masking.DefaultDrop)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMasked: what is masked is not there, what is dropped does not come and leaves no gap, and
// where a policy fails nothing comes that it would have masked.
func TestMasked(t *testing.T) {
	b, s, file := newBook(5), newService(t), filepath.Join(t.TempDir(), "f")
	u := newUploader(t, b, file, s.target(policyOf(t, `
mask contains "/custom/permd/claimedTitle"
mask contains {"op": "upsert", "path": "/custom/permd/seq", "value": 99}
mask contains "/nothing" if input.custom.permd.seq == 4
drop if input.custom.permd.seq in {2, 5}
drop := 1 / 0 == 1 if input.custom.permd.seq == 3
`)))
	u.round(t.Context())
	if got := s.ids(); !slices.Equal(got, []string{"c1-d1", "c1-d3", "c1-d4"}) {
		t.Fatalf("the service has %v: %+v", got, u.Status())
	}
	if e := &s.events[0]; e.Custom.Permd.ClaimedTitle != "" || e.Custom.Permd.Seq != 1 || e.Input == nil {
		t.Errorf("%+v", e)
	}
	for i, follows := range map[int]int64{1: 1, 2: 3} {
		if e := &s.events[i]; e.Input != nil || e.Result != nil || e.Custom.Permd.ClaimedTitle != "" || !e.Custom.Permd.MaskingFailed || e.Custom.Permd.Follows != follows {
			t.Errorf("%+v", e)
		}
	}
	if c := u.Counts(); c.Dropped != 2 || c.Unmasked != 2 || u.Status().MaskError == "" || u.Status().Acknowledged != 5 {
		t.Errorf("%+v, %+v", c, u.Status())
	}
}

// TestHeld: while it is not known how to mask, nothing is sent.
func TestHeld(t *testing.T) {
	s, held := newService(t), errors.New("log.d/x.rego:1: no")
	u := newUploader(t, newBook(2), filepath.Join(t.TempDir(), "f"), s.target(nil))
	u.o.Target = func() (*Target, error) { return nil, held }
	u.round(t.Context())
	if st := u.Status(); len(s.ids()) != 0 || st == nil || st.Error != held.Error() || st.Waiting != 2 {
		t.Errorf("%v, %+v", s.ids(), st)
	}
	u.o.Target = func() (*Target, error) { return nil, nil }
	if wait := u.round(t.Context()); wait != lookEvery {
		t.Errorf("without a service it waits for %s", wait)
	}
}

// TestSlow: a service that never answers, or takes a byte a second, ends with the attempt's
// time, and with Run's context at once.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		target := &Target{Config: Config{Service: "s", MinDelay: time.Second, MaxDelay: time.Second, UploadLimit: defaultUploadLimit}}
		target.Post = func(ctx context.Context, _ string, body []byte) (*http.Response, error) {
			attempts++
			for range body {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return nil, errors.New("it was taken")
		}
		u := newUploader(t, newBook(2), filepath.Join(t.TempDir(), "f"), target)
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() { u.Run(ctx) })
		time.Sleep(attemptTimeout * 3 / 2)
		if st := u.Status(); attempts != 2 || !strings.Contains(st.Error, "deadline") {
			t.Errorf("%d attempts, %+v", attempts, st)
		}
		begun := time.Now()
		cancel()
		ended.Wait()
		if took := time.Since(begun); took > 0 {
			t.Errorf("it ended after %s", took)
		}
	})
}

func TestParseConfig(t *testing.T) {
	for text, want := range map[string]string{
		`{"service":"a"}`: "{a logs 5m0s 10m0s 32768 /system/log/mask /system/log/drop}",
		`{"service":"a","partition_name":"p/q","reporting":{"max_delay_seconds":10},"mask_decision":"/x/y"}`: "{a logs/p%2Fq 10s 10s 32768 /x/y /system/log/drop}",
		`{"service":"a","resource":"/v1/logs/","reporting":{"min_delay_seconds":900}}`:                       "{a v1/logs 15m0s 15m0s 32768 /system/log/mask /system/log/drop}",
		`{}`:                             "decision_logs.service names no service",
		`{"service":"a","resource":"/"}`: "decision_logs.resource is empty",
		`{"service":"a","reporting":{"upload_size_limit_bytes":10}}`:                "decision_logs.reporting.upload_size_limit_bytes must be between 4096 and 16777216",
		`{"service":"a","reporting":{"min_delay_seconds":9,"max_delay_seconds":8}}`: "decision_logs.reporting: min_delay_seconds is larger than max_delay_seconds",
		`{"service":"a","reporting":{"min_delay_seconds":0}}`:                       "decision_logs.reporting.min_delay_seconds must be between 1 and 86400",
		`{"service":"a","resource":"/x","partition_name":"y"}`:                      "decision_logs: resource and partition_name exclude each other",
	} {
		c, err := ParseConfig([]byte(text))
		got := fmt.Sprint(c)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzConfig: what is accepted is within the bounds, and names a service.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"service":"a","resource":"/x","reporting":{"min_delay_seconds":1,"max_delay_seconds":2,"upload_size_limit_bytes":5000}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := ParseConfig(data); err == nil {
			if c.Service == "" || c.Path == "" || c.MinDelay < time.Second || c.MaxDelay < c.MinDelay || c.MaxDelay > maxDelay || c.UploadLimit < minUploadLimit || c.UploadLimit > maxUploadLimit {
				t.Errorf("%s: %+v", data, c)
			}
		}
		if c, err := parseCursor(data); err == nil && (c.Seq < 0 || c.Chain == "") {
			t.Errorf("%s: %+v", data, c)
		}
	})
}
