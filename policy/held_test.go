package policy

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input/inputtest"
	"github.com/permd/permd/policy/policytest"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
)

// heldWorld is a world whose changed rules wait; sw are its settings.
func heldWorld(t *testing.T, mode string) (w *world, sw *Switches) {
	t.Helper()
	w, sw = newWorld(t), &Switches{Reload: mode}
	w.opts.Switches = func() (Switches, error) { return *sw, nil }
	policytest.Write(t, w.org, map[string]string{"rules.yaml": "ask:\n  run: [keep *]\n"})
	policytest.Write(t, w.user, map[string]string{
		"a/rules.yaml": "deny:\n  run: [rm *]\nallow:\n  run: [ls *]\n",
		"b/rules.yaml": "allow:\n  run: [cat *]\n",
		"c.rego":       rulesFor("user", "deny", "dd", "no dd"),
	})
	return w, sw
}

// look reads the rules as Watch does, and has what waits tried by trial, if that is not nil.
func look(t *testing.T, s *Store, trial func(ctx context.Context, before, after decisions.Policy) Trial) *Waiting {
	t.Helper()
	if _, err := s.reload(t.Context(), loadOptions{}); err != nil {
		t.Fatal(err)
	}
	if trial != nil {
		s.TryHeld(t.Context(), trial)
	}
	return s.Status().Waiting
}

// fires reports whether a rule of a set fires for a program by rules.
func fires(t *testing.T, by decisions.Policy, set decisions.Set, program string) bool {
	t.Helper()
	snap, err := by.Snapshot(uint32(os.Getuid()), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := snap.Evaluate(context.Background(), inputtest.Of(inputtest.Run(program)))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(got.Fired, func(f decisions.Finding) bool { return f.Set == set && f.Rule.Layer != decisions.Base })
}

// loosens is a trial that looks at some programs alone.
func loosens(t *testing.T, programs ...string) func(ctx context.Context, before, after decisions.Policy) Trial {
	return func(_ context.Context, before, after decisions.Policy) Trial {
		found := Trial{At: time.Now()}
		allowed := func(by decisions.Policy, program string) bool {
			return fires(t, by, decisions.SetAllow, program) && !fires(t, by, decisions.SetDeny, program)
		}
		for _, p := range programs {
			found.Decided++
			if allowed(after, p) && !allowed(before, p) {
				found.Loosened++
			}
		}
		return found
	}
}

// TestHeld: what may allow more waits, what only denies or asks more does not, and nothing waits
// any more once it is requested.
func TestHeld(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{settings.ReloadManual, settings.ReloadReplaySafe} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w, _ := heldWorld(t, mode)
			s := w.open(t)
			write := func(files map[string]string) {
				policytest.Write(t, w.user, files)
				policytest.Age(t, w.root)
			}
			write(map[string]string{"a/rules.yaml": "deny:\n  run: [rm *, shred *]\n"})
			if wait := look(t, s, nil); wait != nil || !fires(t, s, decisions.SetDeny, "shred") || fires(t, s, decisions.SetAllow, "ls") {
				t.Errorf("a list that is stricter: %+v", wait)
			}
			write(map[string]string{"a/rules.yaml": "deny:\n  run: [shred *]\n", "b/rules.yaml": "allow:\n  run: [cat *]\ndeny:\n  run: [mv *]\n"})
			wait := look(t, s, nil)
			if wait == nil || wait.Mode != mode || !slices.Equal(wait.Parts, []string{"user"}) || wait.Trial != nil {
				t.Fatalf("a list that is milder: %+v", wait)
			}
			if !fires(t, s, decisions.SetDeny, "rm") || !fires(t, s, decisions.SetDeny, "mv") {
				t.Error("the deny is gone, or that of another list waits")
			}
			again := look(t, s, nil)
			if again == nil || !again.Since.Equal(wait.Since) {
				t.Errorf("read again: %+v, before %+v", again, wait)
			}
			// A rego file and the program that it allows.
			write(map[string]string{"c.rego": rulesFor("user", "deny", "dd", "no dd") + "allow contains \"m\" if input.effect.program == \"mkfs\"\n"})
			wait = look(t, s, loosens(t, "rm", "mkfs"))
			if fires(t, s, decisions.SetAllow, "mkfs") {
				t.Error("a rule in Rego is in use")
			}
			if replayed := mode == settings.ReloadReplaySafe; wait == nil || (wait.Trial != nil) != replayed || replayed && (wait.Trial.Loosened != 1 || wait.Trial.Decided != 2) {
				t.Errorf("after the trial: %+v", wait)
			}
			before := s.state.Load().held
			if look(t, s, func(context.Context, decisions.Policy, decisions.Policy) Trial {
				t.Error("tried again")
				return Trial{}
			}); s.state.Load().held != before {
				t.Error("it waits anew")
			}
			if changed, err := s.Reload(t.Context()); err != nil || !changed || s.Status().Waiting != nil || !fires(t, s, decisions.SetAllow, "mkfs") || fires(t, s, decisions.SetDeny, "rm") {
				t.Errorf("reload: %t %v %+v", changed, err, s.Status().Waiting)
			}
		})
	}
}

// TestHeldAdmitted: what the trial finds safe comes into use, also where something else waits.
func TestHeldAdmitted(t *testing.T) {
	t.Parallel()
	w, sw := heldWorld(t, settings.ReloadReplaySafe)
	s := w.open(t)
	policytest.Write(t, w.user, map[string]string{"a/rules.yaml": "allow:\n  run: [ls *, frob *]\n"})
	policytest.Write(t, w.org, map[string]string{"d.rego": rulesFor("org", "deny", "nc", "no nc")})
	policytest.Age(t, w.root)
	wait := look(t, s, loosens(t, "frob", "nc"))
	if wait == nil || !slices.Equal(wait.Parts, []string{"user"}) || wait.Trial == nil || wait.Trial.Loosened != 1 {
		t.Fatalf("%+v", wait)
	}
	if !fires(t, s, decisions.SetDeny, "nc") || fires(t, s, decisions.SetAllow, "frob") || !fires(t, s, decisions.SetDeny, "rm") {
		t.Error("org's rules wait for a user's, or these do not wait")
	}
	// Other content is tried anew, and the former one waits no more.
	policytest.Write(t, w.user, map[string]string{"a/rules.yaml": "allow:\n  run: [ls *, other *]\n"})
	policytest.Age(t, w.root)
	if wait := look(t, s, loosens(t, "frob", "nc")); wait != nil || !fires(t, s, decisions.SetAllow, "other") {
		t.Errorf("safe by the trial: %+v", wait)
	}
	// Settings.
	sw.AskGates, sw.NoPause = true, true
	if wait := look(t, s, nil); wait != nil || !s.AskGates() {
		t.Errorf("stricter settings wait: %+v", wait)
	}
	sw.AskGates = false
	if wait := look(t, s, loosens(t, "frob")); wait == nil || !s.AskGates() || wait.Trial == nil || !strings.Contains(wait.Trial.Why, "ask_gates") {
		t.Errorf("milder settings: %+v", wait)
	}
	sw.AskGates, sw.Reload = true, settings.ReloadAuto
	if wait := look(t, s, loosens(t, "frob")); wait == nil || wait.Mode != settings.ReloadReplaySafe || wait.Trial == nil || !strings.Contains(wait.Trial.Why, "reload in permd.toml") {
		t.Errorf("reload = auto: %+v", wait)
	}
	sw.Reload = settings.ReloadReplaySafe
	sw.Restrictions.Lock = "incident"
	if wait := look(t, s, nil); wait != nil || s.Lock() == "" {
		t.Errorf("a lock waits: %+v", wait)
	}
	sw.Restrictions.Lock = ""
	if wait := look(t, s, loosens(t, "frob")); wait == nil || s.Lock() == "" || wait.Trial == nil || !strings.Contains(wait.Trial.Why, "lock") {
		t.Errorf("without the lock: %+v", wait)
	}
	sw.Restrictions.Lock = "incident"
	sw.Profile = settings.ProfileUnattended
	if wait := look(t, s, nil); wait == nil || s.Unattended() {
		t.Errorf("another profile: %+v", wait)
	}
	if wait := look(t, s, loosens(t, "frob")); wait != nil || !s.Unattended() {
		t.Errorf("another profile, which is safe: %+v", wait)
	}
}

// TestHeldChanged: files that change during a trial are not put in place by it.
func TestHeldChanged(t *testing.T) {
	t.Parallel()
	w, _ := heldWorld(t, settings.ReloadReplaySafe)
	s := w.open(t)
	write := func(text string) {
		policytest.Write(t, w.user, map[string]string{"b/rules.yaml": text})
		policytest.Age(t, w.root)
	}
	write("allow:\n  run: [cat *, one *]\n")
	n := 0
	wait := look(t, s, func(context.Context, decisions.Policy, decisions.Policy) Trial {
		if n++; n == 1 {
			write("allow:\n  run: [cat *, two *]\n")
			if _, err := s.reload(t.Context(), loadOptions{}); err != nil {
				t.Error(err)
			}
			return Trial{Decided: 1}
		}
		return Trial{Decided: 1, Loosened: 1}
	})
	if n != 2 || wait == nil || wait.Trial == nil || wait.Trial.Loosened != 1 || fires(t, s, decisions.SetAllow, "one") || fires(t, s, decisions.SetAllow, "two") {
		t.Errorf("%d trials, %+v", n, wait)
	}
	// Broken files: what is in use stays, and nothing waits.
	write("allow: [")
	_, _ = s.reload(t.Context(), loadOptions{}) // the error is in the status
	if st := s.Status(); st.Waiting != nil || !st.Degraded() || fires(t, s, decisions.SetAllow, "two") || !fires(t, s, decisions.SetAllow, "cat") {
		t.Errorf("broken: %+v", st)
	}
	if _, err := s.Reload(t.Context()); err == nil || fires(t, s, decisions.SetAllow, "two") {
		t.Errorf("broken files are reloaded: %v", err)
	}
	// As they were.
	write("allow:\n  run: [cat *]\n")
	if wait := look(t, s, nil); wait != nil || s.Status().Degraded() {
		t.Errorf("as they were: %+v", wait)
	}
	// A session does not read what waits.
	write("allow:\n  run: [cat *, three *]\n")
	if err := s.Prepare(t.Context(), s.opts.UID, ""); err != nil || fires(t, s, decisions.SetAllow, "three") {
		t.Errorf("after Prepare: %v", err)
	}
	// Only with the digest that was expected.
	if changed, err := s.ReloadIf(t.Context(), "other"); err == nil || changed || fires(t, s, decisions.SetAllow, "three") {
		t.Errorf("reload of another digest: %t %v", changed, err)
	}
	other := w.open(t)
	snap, err := other.Snapshot(s.opts.UID, "")
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := s.ReloadIf(t.Context(), snap.Digest()); err != nil || !changed || !fires(t, s, decisions.SetAllow, "three") {
		t.Errorf("reload of the digest: %t %v", changed, err)
	}
}

// TestHeldRemoved: a file that is gone keeps its denies while that waits, and its allows end at once.
func TestHeldRemoved(t *testing.T) {
	t.Parallel()
	w, _ := heldWorld(t, settings.ReloadReplaySafe)
	s := w.open(t)
	remove(t, w.user, "a/rules.yaml", "b/rules.yaml")
	for i := range 3 {
		_, _ = s.reload(t.Context(), loadOptions{}) // it is in the status that they are gone
		if !fires(t, s, decisions.SetDeny, "rm") || fires(t, s, decisions.SetAllow, "ls") || fires(t, s, decisions.SetAllow, "cat") {
			t.Errorf("%d: %+v", i, s.Status())
		}
		if i == 0 {
			longAgo(s)
		}
	}
	st := s.Status()
	if st.Degraded() || st.Waiting == nil {
		t.Fatalf("%+v", st)
	}
	if wait := look(t, s, loosens(t, "rm")); wait != nil || fires(t, s, decisions.SetDeny, "rm") {
		t.Errorf("after the trial: %+v", wait)
	}
}

// TestHeldOrgPrograms: rules of people are read by org's programs, so they wait with these.
func TestHeldOrgPrograms(t *testing.T) {
	t.Parallel()
	w, _ := heldWorld(t, settings.ReloadReplaySafe)
	const file = "programs/team.yaml"
	policytest.Write(t, w.org, map[string]string{file: deployctl})
	s := w.open(t)
	policytest.Write(t, w.org, map[string]string{file: strings.ReplaceAll(deployctl, "--json", "--yaml")})
	policytest.Write(t, w.user, map[string]string{"b/rules.yaml": "allow:\n  run: [cat *, frob *]\n"})
	policytest.Age(t, w.root)
	wait := look(t, s, nil)
	if wait == nil || !slices.Equal(wait.Parts, []string{"org", "user"}) || fires(t, s, decisions.SetAllow, "frob") {
		t.Fatalf("%+v", wait)
	}
	if wait := look(t, s, loosens(t, "frob")); wait == nil || wait.Trial == nil || wait.Trial.Loosened != 1 {
		t.Errorf("%+v", wait)
	}
	if wait := look(t, s, nil); wait == nil || wait.Trial == nil {
		t.Errorf("read again: %+v", wait)
	}
	if _, err := s.Reload(t.Context()); err != nil || !fires(t, s, decisions.SetAllow, "frob") {
		t.Error(err)
	}
}

// TestOnlyStricter compares the lists of a layer.
func TestOnlyStricter(t *testing.T) {
	t.Parallel()
	const was = "deny:\n  run: [rm *]\nask:\n  read: [/etc/**]\nallow:\n  run: [ls *]\n"
	for text, want := range map[string]bool{
		was: true,
		"# a comment\nallow:\n  run: [ls *]\nask:\n  read: [/etc/**]\ndeny:\n  run: [rm *]\n":       true,
		"deny:\n  run: [rm *, dd *]\nask:\n  read: [/etc/**]\nallow:\n  run: [ls *]\n":              true,
		"deny:\n  run: [rm *]\nask:\n  read: [/etc/**]\n":                                           true,
		"deny:\n  run: [rm *]\nask:\n  read: [/etc/**]\nallow:\n  run: [ls *, cat *]\n":             false,
		"deny:\n  run: [rm *]\nask:\n  read: [/etc/**]\nallow:\n  read: [ls *]\n":                   false,
		"deny:\n  run: [rm -r *]\nask:\n  read: [/etc/**]\nallow:\n  run: [ls *]\n":                 false,
		"deny:\n  run: [rm]\nask:\n  read: [/etc/**]\nallow:\n  run: [ls *]\n":                      false,
		"deny:\n  run: [rm *]\nallow:\n  run: [ls *]\n":                                             false,
		"deny:\n  run: [rm *]\nask:\n  write: [/etc/**]\nallow:\n  run: [ls *]\n":                   false,
		"deny:\n  run: [rm *]\nask:\n  read: [/etc/**]\n  run: [make]\nallow:\n  run: [\"ls *\"]\n": true,
		"": false,
	} {
		dir := t.TempDir()
		before := sourceFile(dir, was)
		if _, all, _ := onlyStricter(before, sourceFile(dir, text)); all != want {
			t.Errorf("%q: %t", text, all)
		}
	}
	if _, all, some := onlyStricter(sourceFile("d", was), nil); all || some {
		t.Error("a list with denies is gone")
	}
	if _, all, some := onlyStricter(sourceFile("d", "allow:\n  run: [ls]\n"), nil); !all || !some {
		t.Error("a list of allows is gone")
	}
}

func sourceFile(dir, text string) []source.File {
	return source.NonEmpty([]source.File{{Name: dir + "/" + source.ListName, Rel: source.ListName, Dir: dir, Data: []byte(text)}})
}
