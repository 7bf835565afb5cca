package decisions

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// TestBatch decides requests whose calls affect each other.
func TestBatch(t *testing.T) {
	shell := func(text string) [2]string { return [2]string{"Bash", `{"command":` + quote(text) + `}`} }
	read := func(path string) [2]string { return [2]string{"Read", `{"file_path":` + quote(path) + `}`} }
	for name, tt := range map[string]struct {
		calls [][2]string
		want  Verdict // verdict of the last call
		sees  string  // an effect of the last call
	}{
		"nothing before":                      {[][2]string{read("x/passwd")}, Allow, ""},
		"a look before":                       {[][2]string{shell("ls"), read("x/passwd")}, Allow, ""},
		"a link before":                       {[][2]string{shell("ln -s /etc x"), read("x/passwd")}, Ask, ""},
		"a link before, by a shell":           {[][2]string{shell("ln -s /etc x"), shell("cat x/passwd")}, Ask, ""},
		"a link long before":                  {[][2]string{shell("ln -s /etc x"), shell("ls"), read("x/passwd")}, Ask, ""},
		"a link elsewhere":                    {[][2]string{shell("ln -s /etc y"), read("x/passwd")}, Allow, ""},
		"a link after":                        {[][2]string{read("x/passwd"), shell("ln -s /etc x"), shell("ls")}, Allow, ""},
		"another commit before":               {[][2]string{shell("git checkout other"), read("x/passwd")}, Ask, ""},
		"another folder, then a relative one": {[][2]string{shell("cd /etc"), shell("cat passwd")}, Allow, "read /etc/passwd"},
		"what cannot be followed":             {[][2]string{shell("eval $X"), shell("cat a")}, Ask, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, e := newFakes(t)
			root := t.TempDir()
			if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			reqs := make([]*Request, len(tt.calls))
			for i, c := range tt.calls {
				reqs[i] = &Request{Call: effects.Call{
					ID: "c", Protocol: "permd", Agent: effects.Party{Name: "claude"}, Cwd: root,
					Tool: effects.Tool{Name: c[0]}, Input: strictjson.Value(c[1]),
				}}
			}
			got := e.Decide(t.Context(), reqs...)
			if last := got[len(got)-1]; last.Verdict != tt.want {
				t.Errorf("got %s (%s), want %s; effects %+v", last.Verdict, last.Reason, tt.want, last.Effects)
			} else if tt.sees != "" && !slices.ContainsFunc(last.Effects, func(e EffectDecision) bool { return e.Text == tt.sees }) {
				t.Errorf("%q is not among %+v", tt.sees, last.Effects)
			}
		})
	}
}

// TestBatchDenied: the first call is denied, so it does not run and affects no
// later one.
func TestBatchDenied(t *testing.T) {
	var b earlierCalls
	b.add(&Decision{Verdict: Deny, Shell: &LeftShell{Folders: []string{"/x"}}, Effects: []EffectDecision{{Kind: effects.KindState}}}, effects.UnknownDisturbance())
	if b.changed || len(b.folders) > 0 {
		t.Errorf("a denied call is carried over: %+v", b)
	}
	for i := range maxFolders + 1 {
		b.add(&Decision{Verdict: Ask, Shell: &LeftShell{Activated: []string{string(rune('a' + i))}}}, effects.Disturbance{})
	}
	if len(b.activated) != maxFolders+1 || b.activated[maxFolders] != "" {
		t.Errorf("environments %q", b.activated)
	}
	for range maxFolders + 1 {
		b.add(&Decision{Verdict: Ask, Shell: &LeftShell{Folders: []string{string(rune('a' + len(b.folders)))}}}, effects.Disturbance{})
	}
	if len(b.folders) != maxFolders || !b.changed {
		t.Errorf("%d folders, changed %v", len(b.folders), b.changed)
	}
}

// TestBatchFailed: the effects of the first call could not be found, so no path of
// a later call is known.
func TestBatchFailed(t *testing.T) {
	p, _, _, e := newFakes(t)
	p.panics = true
	req := &Request{Call: effects.Call{ID: "c", Tool: effects.Tool{Name: "x"}, Agent: effects.Party{Name: "claude"}}}
	snap, _ := p.Snapshot(0, "")
	d := &Decision{}
	received := new(intake)
	e.receive(t.Context(), received, req, true)
	after := e.decide(t.Context(), snap, req, received, d, e.now())
	if !reflect.DeepEqual(after, effects.UnknownDisturbance()) || d.Verdict != Ask {
		t.Errorf("after %+v, decided %s", after, d.Verdict)
	}
}
