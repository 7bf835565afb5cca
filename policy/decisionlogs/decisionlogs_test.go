package decisionlogs

import (
	"bytes"
	"compress/gzip"
	"context"
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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/decisionlogs/masking"
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
	return New(Options{Source: b, File: file, Log: slog.New(slog.DiscardHandler), Target: func() (*Target, error) { return target, nil }})
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
		var attempts atomic.Int32
		target := &Target{Config: Config{Service: "s", MinDelay: time.Second, MaxDelay: time.Second, UploadLimit: defaultUploadLimit}}
		target.Post = func(ctx context.Context, _ string, body []byte) (*http.Response, error) {
			attempts.Add(1)
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
		if st := u.Status(); attempts.Load() != 2 || !strings.Contains(st.Error, "deadline") {
			t.Errorf("%d attempts, %+v", attempts.Load(), st)
		}
		begun := time.Now()
		cancel()
		ended.Wait()
		if took := time.Since(begun); took > 0 {
			t.Errorf("it ended after %s", took)
		}
	})
}
