package policy

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/rego"
)

const teambot = "version: 1\nagents:\n  - id: teambot\n    names: [teambot]\n    beside: []\n    tools: {usual_read: [look]}\n"

// looks returns what a call of a tool does by the profiles of a snapshot: the kind of its
// first effect.
func looks(t *testing.T, s *Store, agent, tool string) effects.Kind {
	t.Helper()
	snap, err := s.Snapshot(s.opts.UID, "")
	if err != nil {
		t.Fatal(err)
	}
	w := tools.World{FS: fsfake.New("/home/u/p/a"), Table: snap.Table(), Profiles: snap.Profiles()}
	return w.Effects(&effects.Call{
		Protocol: "permd", Tool: effects.Tool{Name: tool}, Agent: effects.Party{Name: agent}, Cwd: "/home/u/p",
		Input: []byte(`{"path":"a"}`), User: effects.User{UID: 1000, Name: "u", Home: "/home/u"},
	}).Effects[0].Kind
}

// TestProfilesOfLayers walks files with profiles through the life of a store.
func TestProfilesOfLayers(t *testing.T) {
	w := newWorld(t)
	sw := Switches{}
	w.opts.Switches = func() (Switches, error) { return sw, nil }
	s := w.open(t)
	check := func(what, agent string, want effects.Kind) {
		t.Helper()
		if got := looks(t, s, agent, "look"); got != want {
			t.Errorf("%s: a call of %s is a %s, want %s", what, agent, got, want)
		}
	}
	reload := func(want string) {
		t.Helper()
		before, _ := s.Snapshot(s.opts.UID, "")
		policytest.Age(t, w.root)
		changed, err := s.Reload(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Fatalf("reload: %v, want %q", err, want)
		}
		after, _ := s.Snapshot(s.opts.UID, "")
		if (before.Digest() != after.Digest()) != changed {
			t.Errorf("changed is %t, the digest %s was %s", changed, after.Digest(), before.Digest())
		}
	}
	check("before", "teambot", effects.KindUse)

	policytest.Write(t, w.user, map[string]string{"profiles.yaml": teambot})
	reload("")
	check("a person's", "teambot", effects.KindRead)
	check("of another agent", "otherbot", effects.KindUse)
	uid := s.opts.UID
	want := []rules.AgentInfo{{Agent: "teambot", Layer: decisions.User, At: filepath.Join(w.user, "profiles.yaml") + ":3", UID: &uid}}
	if diff := cmp.Diff(want, s.Agents()); diff != "" {
		t.Error(diff)
	}
	if l := userLayer(s); l.Agents != 1 || l.State != StateOK {
		t.Errorf("status %+v", l)
	}

	// A broken file: the last good one stays.
	policytest.Write(t, w.user, map[string]string{"profiles.yaml": strings.Replace(teambot, "[teambot]", "[claude-code]", 1)})
	reload(`profiles.yaml:3: agent "teambot": "claude-code" has a profile already`)
	check("broken", "teambot", effects.KindRead)
	check("broken, its agent", "claude-code", effects.KindUse)
	if l := userLayer(s); l.State != StateDegraded || len(l.Problems) != 1 || l.Problems[0].Hint == "" {
		t.Errorf("status %+v", l)
	}
	policytest.Write(t, w.user, map[string]string{"profiles.yaml": teambot})
	reload("")

	// With only_org a person says nothing; nor may clients declare tools, by another setting.
	sw.OnlyOrg = true
	reload("")
	check("only org", "teambot", effects.KindUse)
	sw = Switches{RefuseDeclared: true}
	reload("")
	check("no declarations", "teambot", effects.KindRead)
	snap, _ := s.Snapshot(uid, "")
	if err := snap.Profiles().Declarable(effects.Party{Name: "otherbot"}, nil); err == nil {
		t.Error("tools can be declared")
	}
	sw = Switches{}

	// Org describes it too: then the person's is an error, and org's counts.
	policytest.Write(t, w.org, map[string]string{"sub/profiles.yaml": strings.NewReplacer("look", "see", "[teambot]", "[teambot, claude-code]\n    redefines: true").Replace(teambot)})
	reload("has a profile already")
	if got := looks(t, s, "claude-code", "see"); got != effects.KindRead {
		t.Errorf("a tool of org's claude-code is a %s", got)
	}
	if got := looks(t, s, "claude-code", "Read"); got != effects.KindUse {
		t.Errorf("a tool that org's claude-code does not have is a %s", got)
	}
	remove(t, w.user, "profiles.yaml")
	s.delays.empty, s.delays.reloadEmpty = 0, 0
	reload("")
	if got := s.Agents(); len(got) != 1 || got[0].Layer != decisions.Org || !got[0].Redefines {
		t.Errorf("agents %+v", got)
	}
}

// TestProfilesRemoved: while it is not known whether a file with profiles is gone for good,
// a person's profiles do not count.
func TestProfilesRemoved(t *testing.T) {
	w := newWorld(t)
	w.delays.empty = time.Hour
	policytest.Write(t, w.user, map[string]string{"profiles.yaml": teambot, "rules.yaml": "deny:\n  run: [rm]\n"})
	s := w.open(t)
	if got := looks(t, s, "teambot", "look"); got != effects.KindRead {
		t.Fatalf("the call is a %s", got)
	}
	remove(t, w.user, "profiles.yaml")
	policytest.Age(t, w.root)
	if _, err := s.reload(t.Context(), loadOptions{}); err == nil {
		t.Error("nobody is told")
	}
	if got := looks(t, s, "teambot", "look"); got != effects.KindUse {
		t.Errorf("while its file is gone for a moment the call is a %s", got)
	}
}

// TestProfilesNeverGood: the file of a person that was never good is a broken layer, and a
// project's is not read.
func TestProfilesNeverGood(t *testing.T) {
	w := newWorld(t)
	policytest.Write(t, w.user, map[string]string{"profiles.yaml": "version: 1\nagents: 5\n"})
	policytest.Write(t, w.project, map[string]string{".permd/profiles.yaml": teambot, ".permd/rules.yaml": "deny:\n  run: [rm]\n"})
	s := w.open(t)
	if l := userLayer(s); l.State != StateDegraded || l.Digest != "" || !strings.Contains(l.Error, "profiles.yaml:2: agents is no list") {
		t.Errorf("status %+v", l)
	}
	snap, _ := s.Snapshot(s.opts.UID, "")
	call := &effects.Call{}
	result := (&tools.World{FS: fsfake.New(), Profiles: snap.Profiles()}).Effects(call)
	if _, err := snap.Evaluate(t.Context(), &decisions.Input{Effect: &result.Effects[0], All: result.Effects, Call: call, Result: &result}); err == nil {
		t.Error("the person's rules are not known, and a call is decided")
	}
	policytest.Write(t, w.user, map[string]string{"profiles.yaml": "version: 1\n"})
	policytest.Age(t, w.root)
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(t.Context(), s.opts.UID, w.project); err != nil {
		t.Fatal(err)
	}
	snap, err := s.Snapshot(s.opts.UID, w.project)
	if err != nil || snap.Profiles() != s.profiles {
		t.Errorf("a project has profiles: %v", err)
	}
}

// TestCheckProfiles: permd policy check names what is wrong with profiles, by file and line.
func TestCheckProfiles(t *testing.T) {
	shipped, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		layer      decisions.Layer
		file, text string
		want       string // the first problem
		agents     int
	}{
		"good":           {decisions.User, "profiles.yaml", teambot, "", 1},
		"below":          {decisions.User, "more/profiles.yaml", teambot, "", 1},
		"wrong":          {decisions.User, "profiles.yaml", teambot + "    tool: {}\n", `profiles.yaml:7: unknown key "tool"`, 0},
		"another ending": {decisions.User, "profiles.yml", teambot, "is not read", 0},
		"of a project":   {decisions.Project, "profiles.yaml", teambot, "is ignored", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			policytest.Write(t, dir, map[string]string{tt.file: tt.text, "rules.yaml": "deny:\n  run: [rm]\n"})
			report, err := Folder{Dir: dir, Layer: tt.layer, Schema: rego.InputSchema(), Profiles: shipped}.Check(t.Context())
			got := ""
			switch {
			case err != nil:
				got = err.Error()
			case len(report.Problems) > 0:
				got = report.Problems[0].AsError().Error()
			}
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) || err == nil && len(report.Agents) != tt.agents {
				t.Errorf("%q, want %q; %+v", got, tt.want, report)
			}
		})
	}
}
