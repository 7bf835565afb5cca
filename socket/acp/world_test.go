package acp

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/rego"
)

// agentNames maps the agents of the index to the names that they give
// themselves in their initialize answer.
var agentNames = map[string]string{
	"codex-acp (TypeScript)": "codex-acp",
	"codex-acp (Rust)":       "codex-acp",
	"docker-agent (cagent)":  "docker-agent",
	"cline CLI":              "cline",
	"OpenHands-CLI":          "OpenHands CLI ACP Agent",
	"GitHub Copilot CLI":     "copilot",
	"Devin CLI":              "devin",
}

// The shipped program table and agent profiles, which nothing changes.
var shippedProfiles = sync.OnceValues(func() (*tools.Profiles, error) { return tools.ParseProfiles(rego.Profiles()) })

func shippedWorld(t testing.TB) *tools.World {
	t.Helper()
	profiles, err := shippedProfiles()
	if err != nil {
		t.Fatalf("reading the shipped profiles: %v", err)
	}
	table, err := programs.Shipped()
	if err != nil {
		t.Fatalf("reading the shipped program table: %v", err)
	}
	const shop = "/home/ana/src/shop"
	fs := fsfake.New(shop+"/.git/", shop+"/src/vat.ts", shop+"/src/cart.ts", "/home/ana/.bashrc", "/home/ana/notes.txt",
		"/home/ana/.ssh/id_ed25519", "/etc/hosts", "/var/tmp/", "/tmp/")
	return &tools.World{FS: fs, Table: table, Profiles: profiles}
}

// TestSampleEffects takes the samples all the way to effects, with what permd
// ships, and compares these with the facts of the index.
func TestSampleEffects(t *testing.T) {
	world := shippedWorld(t)
	for _, s := range index(t) {
		if _, ok := unsupported[s.File]; ok {
			continue
		}
		t.Run(s.File, func(t *testing.T) {
			var msg message
			readJSON(t, filepath.Join("testdata", s.File), &msg)
			agent := s.Agent
			if name, ok := agentNames[agent]; ok {
				agent = name
			}
			d, c := newDaemon(decisions.Ask), conn(1)
			version := strings.Fields(s.Version + " 1")[0]
			d.must(t, c, "permd/session", `{"sessionId":"`+sessionOf(t, msg.Params)+
				`","cwd":"/home/ana/src/shop","agent":{"name":"`+agent+`","version":"`+version+`"}}`)
			_, _ = d.call(t, c, msg.Method, string(msg.Params))
			call := &d.last(t).Call
			checkEffects(t, &s.Facts, world.Effects(call))
		})
	}
}

func checkEffects(t *testing.T, f *sampleFacts, res effects.Result) {
	t.Helper()
	has := func(match func(*effects.Effect) bool) bool {
		return slices.ContainsFunc(res.Effects, func(e effects.Effect) bool { return match(&e) })
	}
	kind := func(k effects.Kind) bool { return has(func(e *effects.Effect) bool { return e.Kind == k }) }
	if f.Question && !kind(effects.KindQuestion) {
		t.Error("no question effect")
	}
	if (f.ModeSwitch || f.Widening) && !kind(effects.KindMode) {
		t.Error("no mode effect")
	}
	if f.Malformed && len(res.Defects) == 0 {
		t.Error("no defect")
	}
	if (f.Unknown || f.NeedsMerge) && res.Completeness == effects.Full {
		t.Error("the call is said to be fully known")
	}
	for _, p := range f.Paths {
		if !has(func(e *effects.Effect) bool { return e.File != nil && e.File.Path == p }) {
			t.Errorf("no effect on %s", p)
		}
	}
	if host, ok := strings.CutPrefix(f.URL, "https://"); ok {
		host, _, _ = strings.Cut(host, "/")
		if !has(func(e *effects.Effect) bool { return e.Connect != nil && e.Connect.Host == host }) {
			t.Errorf("no connection to %s", host)
		}
	}
	if f.Unknown || f.NeedsMerge {
		return
	}
	for _, cmd := range append(f.Commands, f.Command) {
		words := strings.Fields(strings.NewReplacer("'", " ", "bash -lc", " ").Replace(cmd))
		if len(words) == 0 {
			continue
		}
		if !has(func(e *effects.Effect) bool { return e.Run != nil && e.Run.Program == words[0] }) {
			t.Errorf("no run of %s", words[0])
		}
	}
	if t.Failed() {
		for _, e := range res.Effects {
			t.Logf("%s %s (from %s)", e.Kind, e.Text, e.From)
		}
		t.Logf("%s, missing %q, defects %+v", res.Completeness, res.Missing, res.Defects)
	}
}
