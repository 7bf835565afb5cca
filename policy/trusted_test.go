package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/trust"
)

const (
	ann, bob   = uint32(1000), uint32(1001)
	shop       = "/home/u/shop"
	shopList   = shop + "/.permd/rules.yaml"
	parentList = "/home/u/.permd/rules.yaml"
)

// everything is a list that allows as much as a list can say.
const everything = `allow:
  run: ["go test *", "make check", "sudo make check", "git push -f", "cp ./docs/a /home/u/notes", "cp ./docs/a ./docs/b", "make check -C /home/u/other", "frob", "ed docs/a", "ed /home/u/.bashrc", "ed ../notes", "ed .git/hooks/pre-commit", "frob -x docs/a --url=https://example.com/..", "frob -o/etc/x", "frob --o=../x", "frob -f .env", "frob a", "frob out/a", "frob in/a", "frob .envrc", "frob .git", "frob --ext .ts docs", "frob -I. a", "make -C sub check", "make *=*", "frob lnk", "make DESTDIR=/etc check", "/tmp/zz"]
  read: ["/**", "~/**", "./**", "./.env", "/home/u/shop/.env", "~/.ssh/id_ed25519", "/etc/passwd"]
  write: ["/**", "~/**", "./**", "./.env", "./.envrc", "./.git/config", "./.claude/settings.json", "./.github/workflows/ci.yml", "/home/u/notes"]
  delete: ["/**", "~/**", "./**"]
  connect: ["api.example.com", "169.254.169.254", "http://169.254.169.254"]
  use: ["tickets:*", "tickets:get"]
`

// TestTrustedProject is what a trusted list can and cannot allow. In each case the same list of the
// person's own allows more, or asks for a reason of its own.
func TestTrustedProject(t *testing.T) {
	w := newTrusting(t)
	w.trusts(everything)
	w.load(t, ann, shop)
	w.load(t, ann, shop+"/sub")
	w.load(t, ann, "/home/u/other")
	for _, tt := range []struct {
		cwd, call string
		want      decisions.Verdict
		project   bool // a rule of the project allows something of it
	}{
		{shop, "go test ./...", decisions.Allow, true},
		{shop, "make check", decisions.Allow, true},
		{shop, "cp ./docs/a ./docs/b", decisions.Allow, true},
		{shop, "curl https://api.example.com/", decisions.Allow, true},
		{shop, "Write " + shop + "/docs/a", decisions.Allow, true},
		{shop, "Write " + shop + "/in/a", decisions.Allow, true}, // a link that stays in the project
		{shop, "Write " + shop + "/docs/../docs/a", decisions.Allow, true},
		{shop + "/docs", "make check", decisions.Allow, true},
		// guarded, however exactly it is named
		{shop, "Read " + shop + "/.env", decisions.Ask, false},
		{shop, "Write " + shop + "/.env", decisions.Ask, false},
		{shop, "Write " + shop + "/.envrc", decisions.Ask, false},
		{shop, "Write " + shop + "/.git/config", decisions.Ask, false},
		{shop, "Write " + shop + "/.claude/settings.json", decisions.Ask, false},
		{shop, "Write " + shop + "/.github/workflows/ci.yml", decisions.Ask, false},
		{shop, "curl http://169.254.169.254/", decisions.Ask, false},
		{shop, "Read /home/u/.ssh/id_ed25519", decisions.Ask, false},
		// its own rules
		{shop, "Write " + shopList, decisions.Deny, false},
		// elsewhere
		{shop, "Write /home/u/notes", decisions.Ask, false},
		{shop, "Write " + shop + "/../notes", decisions.Ask, false},
		{shop, "Write " + shop + "/out/a", decisions.Allow, false}, // a link to a further root of the session: as the shipped rules have it
		{shop, "Write /home/u/other/a", decisions.Allow, false},
		{shop, "cp ./docs/a /home/u/notes", decisions.Ask, true},
		{shop, "make check -C /home/u/other", decisions.Ask, false},
		{shop, "cd /home/u/other && make check", decisions.Ask, false},
		{shop, "rm -r " + shop, decisions.Ask, false},
		// words that lead there, whatever their program does with them
		{shop, "frob", decisions.Allow, true},
		{shop, "ed docs/a", decisions.Allow, true},
		{shop, "frob -x docs/a --url=https://example.com/..", decisions.Allow, true},
		{shop, "ed /home/u/.bashrc", decisions.Ask, false},
		{shop, "ed ../notes", decisions.Ask, false},
		{shop, "ed .git/hooks/pre-commit", decisions.Ask, false},
		{shop, "frob -o/etc/x", decisions.Ask, false},
		{shop, "frob --o=../x", decisions.Ask, false},
		{shop, "frob -f .env", decisions.Ask, false},
		{shop, "X=/etc frob a", decisions.Ask, false},
		{shop, "make DESTDIR=/etc check", decisions.Ask, false},
		{shop, "/tmp/zz", decisions.Ask, false},
		{shop, "frob out/a", decisions.Ask, false},
		{shop, "frob in/a", decisions.Allow, true},
		{shop, "frob lnk", decisions.Ask, false},
		{shop, "frob .envrc", decisions.Ask, false},
		{shop, "frob .git", decisions.Ask, false},
		{shop, "frob --ext .ts docs", decisions.Allow, true},
		{shop, "frob -I. a", decisions.Allow, true},
		{shop, "make V='a;b'", decisions.Ask, false},
		{shop, "make V='`a`'", decisions.Ask, false},
		// what is no business of a project
		{shop, "sudo make check", decisions.Ask, true},
		{shop, "git push -f", decisions.Ask, false},
		{shop, "mcp__tickets__get", decisions.Ask, false},
		{shop, "make check; $X", decisions.Ask, true},
		{shop, "bash -c \"$X\"", decisions.Ask, false},
		// other projects, in it and elsewhere
		{shop + "/sub", "make check", decisions.Ask, false},
		{shop, "cd sub && make check", decisions.Ask, false},
		{shop, "make -C sub check", decisions.Ask, false},
		{shop, "cd in && make check", decisions.Allow, true},
		{shop + "/sub", "Write " + shop + "/sub/a", decisions.Allow, false}, // as the shipped rules have it
		{"/home/u/other", "make check", decisions.Ask, false},
	} {
		d := w.decide(t, ann, tt.cwd, tt.call)
		if d.By == decisions.ByFailure {
			t.Errorf("%s: failed: %s", tt.call, d.Reason)
		}
		if d.Verdict != tt.want {
			t.Errorf("in %s: %s is %s, want %s: %s", tt.cwd, tt.call, d.Verdict, tt.want, d.Reason)
		}
		byProject := slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool {
			return e.Verdict == decisions.Allow && slices.ContainsFunc(e.Rules, func(r decisions.RuleRef) bool { return r.Layer == decisions.Project })
		})
		if byProject != tt.project {
			t.Errorf("in %s: %s: allowed by the project: %v: %+v", tt.cwd, tt.call, byProject, d.Effects)
		}
	}
	if st := statusIn(t, w.store, shop); st.Trust == nil || st.Trust.By != decisions.User || st.Trust.Problem != "" {
		t.Errorf("status %+v", st.Trust)
	}
}

func statusIn(t testing.TB, s *Store, project string) LayerStatus {
	t.Helper()
	for _, l := range s.Status().Layers {
		if l.Project == project {
			return l
		}
	}
	t.Fatalf("no status of %s", project)
	return LayerStatus{}
}

const (
	checks = "allow:\n  run: [make check]\ndeny:\n  run: [rm *]\nask:\n  read: [./docs/**]\n"
	// harmless is checks after a change that loses its deny.
	harmless = "allow:\n  run: [make check]\nask:\n  read: [./docs/**]\n"
)

// TestTrustEnds has a project that ann trusts, and what ends that: in each case what the list
// allowed asks, and what it denied is denied as long as trust lasts.
func TestTrustEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		change  func(w *trusting)
		uid     uint32 // who asks, ann if 0
		problem string // part of the status, "" if nothing is said
		denies  bool   // the deny of the pinned list still counts
	}{
		{name: "one byte", change: func(w *trusting) { w.write(shopList, checks+" ") }, problem: "changed", denies: true},
		{name: "a line is lost", change: func(w *trusting) { w.write(shopList, harmless) }, problem: "changed", denies: true},
		{name: "the list is gone", change: func(w *trusting) { delete(w.lists, shopList) }, problem: "not the ones", denies: true},
		{name: "the list is broken", change: func(w *trusting) { w.write(shopList, "allow: [\n") }, problem: "", denies: true},
		{name: "the time is over", change: func(w *trusting) { w.now = w.now.Add(time.Hour) }, problem: "over", denies: true},
		{name: "the time is over, and the list is another", change: func(w *trusting) {
			w.now = w.now.Add(time.Hour)
			w.write(shopList, harmless)
		}, problem: "over"},
		{name: "the clock was set back", change: func(w *trusting) { w.now = w.now.Add(-time.Hour) }, problem: "over", denies: true},
		{name: "revoked", change: func(w *trusting) { clear(w.pins) }, denies: true},
		{name: "another person", uid: bob, change: func(*trusting) {}, denies: true},
		{name: "the list is a link", change: func(w *trusting) {
			f := w.lists[shopList]
			f.Link = true
			w.lists[shopList] = f
		}, problem: "link", denies: true},
		{name: "the list is another's", change: func(w *trusting) {
			f := w.lists[shopList]
			f.Owner = bob
			w.lists[shopList] = f
		}, problem: "another user", denies: true},
		{name: "org forbids", change: func(w *trusting) { w.sw.ProjectTrust = settings.TrustForbid }, problem: "organisation", denies: true},
		{name: "org approves alone", change: func(w *trusting) { w.sw.ProjectTrust = settings.TrustApproved }, problem: "organisation", denies: true},
		{name: "only org", change: func(w *trusting) { w.sw.OnlyOrg = true }, denies: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTrusting(t)
			w.trusts(checks)
			uid := ann
			if tt.uid != 0 {
				uid = tt.uid
			}
			w.load(t, uid, shop)
			if tt.uid == 0 {
				if d := w.decide(t, ann, shop, "make check"); d.Verdict != decisions.Allow {
					t.Fatalf("before: %s: %s", d.Verdict, d.Reason)
				}
			}
			before, _ := w.store.Snapshot(uid, shop)
			tt.change(w)
			if _, err := w.store.reload(t.Context(), loadOptions{deadline: time.Now().Add(time.Second)}); err != nil && tt.name != "the list is broken" {
				t.Error(err)
			}
			_ = w.store.Retrust(t.Context(), uid, shop) // a list that was removed or broken is an error
			if d := w.decide(t, uid, shop, "make check"); d.Verdict != decisions.Ask {
				t.Errorf("what was trusted: %s: %s", d.Verdict, d.Reason)
			}
			if d := w.decide(t, uid, shop, "rm docs/a"); (d.Verdict == decisions.Deny) != tt.denies {
				t.Errorf("what was denied: %s: %s", d.Verdict, d.Reason)
			}
			after, err := w.store.Snapshot(uid, shop)
			if err != nil || after.Digest() == before.Digest() && tt.uid == 0 {
				t.Errorf("the policy has the digest that it had: %v", err)
			}
			if st := statusIn(t, w.store, shop).Trust; tt.problem != "" && (st == nil || !strings.Contains(st.Problem, tt.problem)) {
				t.Errorf("status %+v", st)
			}
		})
	}
}

// TestTrustLapses: trust ends at its time and not when files are looked at next, and in the digest.
func TestTrustLapses(t *testing.T) {
	w := newTrusting(t)
	w.trusts(checks)
	w.load(t, ann, shop)
	before, _ := w.store.Snapshot(ann, shop)
	for _, step := range []struct {
		after time.Duration
		want  decisions.Verdict
	}{{time.Hour - 1, decisions.Allow}, {1, decisions.Ask}} {
		w.now = w.now.Add(step.after)
		if d := w.decide(t, ann, shop, "make check"); d.Verdict != step.want {
			t.Errorf("after %v more: %s: %s", step.after, d.Verdict, d.Reason)
		}
	}
	if after, _ := w.store.Snapshot(ann, shop); after.Digest() == before.Digest() {
		t.Error("the policy has the digest that it had")
	}
	if d := w.decide(t, ann, shop, "rm docs/a"); d.Verdict != decisions.Deny {
		t.Errorf("its deny: %s", d.Verdict)
	}
}

// TestRetrust: what a person trusts, or trusts no more, holds when the method returns, and a
// revocation even if the files cannot be read.
func TestRetrust(t *testing.T) {
	w := newTrusting(t)
	w.write(shopList, checks)
	w.load(t, ann, shop)
	want := func(v decisions.Verdict) {
		t.Helper()
		if d := w.decide(t, ann, shop, "make check"); d.Verdict != v {
			t.Errorf("%s, want %s: %s", d.Verdict, v, d.Reason)
		}
	}
	want(decisions.Ask)
	w.pin(ann, shop, checks, time.Hour)
	if err := w.store.Retrust(t.Context(), ann, shop); err != nil {
		t.Fatal(err)
	}
	want(decisions.Allow)
	clear(w.pins)
	end := w.store.loads.start(t.Context(), layerKey{ann, shop}, time.Now().Add(time.Second)) // its rules are being loaded
	w.store.delays.load = time.Millisecond
	if err := w.store.Retrust(t.Context(), ann, shop); err == nil {
		t.Error("no error although its rules could not be loaded")
	}
	want(decisions.Ask)
	end()
}

// TestTrustSwapped has the list exchanged while it is read: what counts is what was compared.
func TestTrustSwapped(t *testing.T) {
	const evil = "allow:\n  run: [frob]\n"
	w := newTrusting(t)
	w.trusts(checks)
	reads := 0
	w.read = func(dir string) {
		if dir != shop+"/.permd" {
			return
		}
		if reads++; reads%2 == 0 {
			w.write(shopList, evil)
		} else {
			w.write(shopList, checks)
		}
	}
	for range 5 {
		w.store.delays.load = 30 * time.Millisecond
		w.load(t, ann, shop)
		if d := w.decide(t, ann, shop, "frob"); d.Verdict == decisions.Allow {
			t.Fatalf("what nobody trusts is allowed: %s", d.Reason)
		}
	}
}

// TestTrustApproved: org trusts lists by their digest, also only in a folder, and forbids all.
func TestTrustApproved(t *testing.T) {
	t.Parallel()
	digest := trust.Digest([]byte(checks))
	for _, tt := range []struct {
		name string
		sw   Switches
		want decisions.Verdict
	}{
		{"anywhere", Switches{Approved: []Approved{{Digest: digest}}}, decisions.Allow},
		{"in its folder", Switches{ProjectTrust: settings.TrustApproved, Approved: []Approved{{Digest: digest, Root: "/home/u"}}}, decisions.Allow},
		{"in another folder", Switches{Approved: []Approved{{Digest: digest, Root: "/home/u/sho"}}}, decisions.Ask},
		{"another list", Switches{Approved: []Approved{{Digest: trust.Digest([]byte(harmless))}}}, decisions.Ask},
		{"all is forbidden", Switches{ProjectTrust: settings.TrustForbid, Approved: []Approved{{Digest: digest}}}, decisions.Ask},
		{"only org", Switches{OnlyOrg: true, Approved: []Approved{{Digest: digest}}}, decisions.Ask},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTrusting(t)
			w.sw = tt.sw
			if _, err := w.store.reload(t.Context(), loadOptions{deadline: time.Now().Add(time.Second)}); err != nil {
				t.Fatal(err)
			}
			w.write(shopList, checks)
			w.load(t, bob, shop)
			if d := w.decide(t, bob, shop, "make check"); d.Verdict != decisions.Ask && tt.want == decisions.Ask {
				t.Errorf("%s, want %s: %s", d.Verdict, tt.want, d.Reason)
			}
			// The list belongs to ann, so it is not trusted for bob in any case.
			w.load(t, ann, shop)
			if d := w.decide(t, ann, shop, "make check"); d.Verdict != tt.want {
				t.Errorf("%s, want %s: %s", d.Verdict, tt.want, d.Reason)
			}
		})
	}
}

// TestTrustOfParent: the list of a folder above is not trusted with the project's, nor by a pin of that
// folder, nor one of the same bytes.
func TestTrustOfParent(t *testing.T) {
	w := newTrusting(t)
	w.write(shopList, harmless)
	w.write(parentList, checks)
	w.pin(ann, "/home/u", checks, time.Hour)
	w.pin(ann, shop, checks, time.Hour)
	w.load(t, ann, shop)
	if d := w.decide(t, ann, shop, "make check"); d.Verdict != decisions.Ask {
		t.Errorf("by a folder above: %s: %s", d.Verdict, d.Reason)
	}
	if d := w.decide(t, ann, shop, "rm docs/a"); d.Verdict != decisions.Deny {
		t.Errorf("its deny: %s: %s", d.Verdict, d.Reason)
	}
}

// TestUntrustedNeverLoosens: whatever an untrusted project writes, no call is decided less strictly
// than without it, and whatever a trusted one writes, nothing else than a call in it.
func TestUntrustedNeverLoosens(t *testing.T) {
	lines := []string{
		"allow:\n  run: [%s]\n", "deny:\n  run: [%s]\n", "ask:\n  run: [%s]\n", "allow:\n  write: [./**, %s]\n", "allow:\n  connect: [%s]\n", "deny:\n  read: [%s]\n",
	}
	words := []string{`"make check"`, `"go test *"`, `"./docs/a"`, `"rm *"`, `"api.example.com"`, `"/home/u/**"`, `"*.example.com"`}
	calls := []string{"make check", "go test ./x", "rm docs/a", "Write " + shop + "/docs/a", "Read " + shop + "/.env", "curl https://api.example.com/", "ls"}
	random := rand.New(rand.NewPCG(1, testload.Seed(t)))
	w := newTrusting(t)
	w.load(t, ann, shop)
	without := map[string]decisions.Verdict{}
	for _, c := range calls {
		without[c] = w.decide(t, ann, shop, c).Verdict
	}
	for n := range 60 {
		var text strings.Builder
		for range 1 + random.IntN(3) {
			part := fmt.Sprintf(lines[random.IntN(len(lines))], words[random.IntN(len(words))])
			if !strings.Contains(text.String(), part[:strings.IndexByte(part, '\n')]) {
				text.WriteString(part)
			}
		}
		w.write(shopList, text.String())
		switch n % 3 {
		case 0:
			clear(w.pins)
		case 1:
			w.pin(ann, shop, checks, time.Hour) // another list is trusted
		case 2:
			w.pin(bob, shop, text.String(), time.Hour)
			delete(w.pins, layerKey{ann, shop})
		}
		w.load(t, ann, shop)
		if err := w.store.Retrust(t.Context(), ann, shop); err != nil {
			continue // a line that no list can have: calls ask
		}
		for _, c := range calls {
			if d := w.decide(t, ann, shop, c); decisions.Stricter(d.Verdict, without[c]) != d.Verdict {
				t.Fatalf("%s is %s, and %s without the project's rules:\n%s", c, d.Verdict, without[c], &text)
			}
		}
	}
}
