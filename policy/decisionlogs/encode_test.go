package decisionlogs

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/policy/decisionlogs/masking"
	"github.com/permd/permd/policy/source"
)

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
