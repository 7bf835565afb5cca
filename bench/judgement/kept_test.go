package main

import (
	"flag"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
)

var keptCorpus = flag.String("kept-corpus", corpus, "folder of the corpora that TestKept decides")

// TestKept decides all calls of the corpora, and compares each result of an evaluation
// that was kept with a new one. For the whole corpora:
//
//	go test ./bench/judgement -run TestKept -kept-corpus ../../../shared/corpus -v
func TestKept(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it measures the corpora twice; the tests of policy/rules are the quick ones")
	}
	for _, profile := range testload.Sample(t, 1, []string{"careful", "balanced", "unattended"}) {
		t.Run(profile, func(t *testing.T) {
			var found atomic.Int64
			must(t, options{corpus: *keptCorpus, profile: profile, asJSON: true, compare: func(in *decisions.Input, kept, anew []decisions.Finding) {
				found.Add(1)
				if len(kept)+len(anew) == 0 {
					return
				}
				if diff := cmp.Diff(anew, kept); diff != "" {
					t.Errorf("%s: findings (-anew +kept):\n%s", in.Effect.Text, diff)
				}
			}})
			if found.Load() == 0 {
				t.Error("nothing was kept")
			}
			t.Logf("%d results were kept", found.Load())
		})
	}
}
