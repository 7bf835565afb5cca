package shell

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/runs"
)

// attack is one row of testdata/bypass.jsonl: a command, the allow rule under
// which a careless matcher lets it pass, and whether it must not.
type attack struct {
	ID       string
	Command  string
	Naive    string `json:"naive_rule"`
	Expected string
	Class    string
	Tier     int
}

func attacks(t testing.TB) []attack {
	t.Helper()
	file, err := os.Open("../testdata/bypass.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []attack
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a attack
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if a.Command != "" {
			all = append(all, a)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// attackFiles is the checkout for which the attacks were written.
func attackFiles() *fsfake.FS {
	fs := fsfake.New("/home/ana/.ssh/id_ed25519", "/home/ana/.bashrc", "/etc/passwd", "/usr/bin/git", "/dev/null", "/tmp/")
	for _, name := range []string{
		".git/config", ".git/HEAD", "a.txt", "one.txt", "big.txt", "victim.txt", "evil.sh", "ok.sh", "a.json", "evil.awk",
		"evilrepo/.git/config", "victimdir/x", "src/a.txt", ".env", "lockf",
	} {
		fs.File(effectstest.Cwd+"/"+name, "text\n")
	}
	fs.File(effectstest.Cwd+"/.git/config", "[core]\n\tbare = false\n")
	return fs
}

// words are the rules of one attack: lists of words, each allowing runs that
// begin with them (the "x *" entries of a rules file).
func (a *attack) words() (rules [][]string, ok bool) {
	for part := range strings.SplitSeq(a.Naive, ";") {
		kind, value, _ := strings.Cut(part, ":")
		switch kind {
		case "prefix":
			rules = append(rules, strings.Fields(value))
		case "segments":
			for words := range strings.SplitSeq(value, ",") {
				rules = append(rules, strings.Fields(words))
			}
		}
	}
	return rules, len(rules) > 0
}

// passes reports whether "x *" entries for the rules and a base layer that
// allows reads in the project would let every effect pass.
func passes(b *runs.Builder, rules [][]string) bool {
	for i := range b.Effects {
		e := &b.Effects[i]
		covered := e.Inherent() && e.Kind != effects.KindUnknown
		switch e.Kind {
		case effects.KindRun:
			covered = slices.ContainsFunc(rules, func(rule []string) bool {
				return len(rule) > 0 && rule[0] == e.Run.Program && e.Run.HarmlessFrom <= len(rule)-1 &&
					len(rule)-1 <= len(e.Run.Args) && slices.Equal(rule[1:], e.Run.Args[:len(rule)-1])
			}) && !e.Tags.Has(effects.Outside)
		case effects.KindRead:
			covered = e.Tags.Has(effects.InProject) && e.Guarded() == 0
		}
		if !covered {
			return false
		}
	}
	return true
}

// TestBypass gives each attack the allow rule under which a careless matcher would
// let it pass. The rule must not allow it.
func TestBypass(t *testing.T) {
	table := effectstest.Table(t)
	count := map[int]int{}
	for _, a := range attacks(t) {
		rules, ok := a.words()
		if !ok || a.Expected != "not_allowed" || a.Tier == 3 {
			// A rule of tier 3 names a wrapper or interpreter: that is for the
			// checks of rules, not for effects.
			continue
		}
		count[a.Tier]++
		t.Run(a.ID, func(t *testing.T) {
			b := shellBuilder(table, attackFiles())
			Text(b, a.Command, effectstest.Cwd, "command")
			if b.Nothing || passes(b, rules) {
				t.Errorf("%q passes under %q", a.Command, a.Naive)
				for i := range b.Effects {
					t.Log(effectstest.Compact(&b.Effects[i]))
				}
			}
		})
	}
	if count[1] < 60 || count[2] < 60 {
		t.Errorf("only %v attacks by tier", count)
	}
}

// TestBypassControls gives the harmless commands that come with the attacks the
// same rules: the rules must allow them.
func TestBypassControls(t *testing.T) {
	table := effectstest.Table(t)
	// Programs that the table does not have yet: their options are not known
	// to be harmless.
	later := []string{"awk", "jq", "python3", "npm"}
	for _, a := range attacks(t) {
		rules, ok := a.words()
		if !ok || a.Expected != "allowed" || slices.Contains(later, strings.Fields(a.Command)[0]) ||
			strings.Contains(a.Naive, "://") { // a rule about the beginning of an address
			continue
		}
		t.Run(a.ID, func(t *testing.T) {
			b := shellBuilder(table, attackFiles())
			b.Shells = plainshell.Bash | plainshell.Zsh
			Text(b, a.Command, effectstest.Cwd, "command")
			if !b.Nothing && !passes(b, rules) {
				t.Errorf("%q does not pass under %q", a.Command, a.Naive)
				for i := range b.Effects {
					t.Log(effectstest.Compact(&b.Effects[i]))
				}
			}
		})
	}
}

// TestBypassDeny has commands that a deny rule about their words would miss: each
// must have an effect other than a harmless run, so that a policy that asks allows
// none.
func TestBypassDeny(t *testing.T) {
	table := effectstest.Table(t)
	for _, a := range attacks(t) {
		if a.Tier != 4 {
			continue
		}
		t.Run(a.ID, func(t *testing.T) {
			b := shellBuilder(table, attackFiles())
			Text(b, a.Command, effectstest.Cwd, "command")
			program, _ := strings.CutPrefix(a.Naive, "default-allow;deny-prefix:")
			for i := range b.Effects {
				switch e := &b.Effects[i]; {
				case e.Kind == effects.KindRun && (e.Run.Program == program || !e.Run.Readonly):
					return
				case e.Kind == effects.KindUnknown, e.Kind == effects.KindDelete, e.Kind == effects.KindState, e.Kind == effects.KindConnect && !e.Inherent():
					return
				}
			}
			t.Errorf("%q looks harmless: %d effects", a.Command, len(b.Effects))
		})
	}
}
