package main

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestReasons counts reasons without what they take from the call.
func TestReasons(t *testing.T) {
	var f findings
	row := func(class, reason string, run effects.Run) {
		f.add(finding{classes: []string{class}}, result{
			Decision: &decisions.Decision{Verdict: decisions.Ask, Reason: reason},
			effects:  []effects.Effect{{Kind: effects.KindRun, Run: &run}},
		})
	}
	script := func(name string) effects.Run {
		return effects.Run{Does: "runs the script " + name + " of package.json", Operands: []string{name}}
	}
	row("calls.ask", "runs the script a of package.json", script("a"))
	row("calls.ask", "runs the script b of package.json", script("b"))
	row("calls.ask", "not understood: code: x", effects.Run{})
	row("usage.ask", "not understood: code: y", effects.Run{})
	row("usage.ask", "not understood: code", effects.Run{})
	row("memory.ask", "not understood: code", effects.Run{})
	got := f.reasons()
	if want := (reasonShare{"not understood: code", 3, 5, 0.6}); got.All != want {
		t.Errorf("all: %+v, want %+v", got.All, want)
	}
	if want := (reasonShare{"runs the script … of package.json", 2, 3, 0.6667}); got.ByCorpus["calls"] != want {
		t.Errorf("calls: %+v, want %+v", got.ByCorpus["calls"], want)
	}
	over := &score{Reasons: got}
	if list := over.metrics(); len(list) != 1 || list[0].value < 0.44 || list[0].value > 0.46 {
		t.Errorf("the metrics are %+v", list)
	}
}
