package shell

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// TestTellingOptionsOracle runs sub-commands of git that show changes, with each option that the table
// has for them, in two repositories that differ only in what a secret of the same size holds. If
// the real git prints or returns other things of it, hashes aside, the secret is read, or the run asks.
// Without such options no summary does.
func TestTellingOptionsOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs git with each option; TestLimitsOracle is the quick one")
	}
	var both [2]*contentsOracle
	beginning := filepath.Join(t.TempDir(), "p")
	for i, letter := range []string{"A", "B"} {
		o := newContentsOracle(t)
		if i == 0 {
			o.run(o.top, "cp -a p "+beginning)
		} else {
			o.run(o.top, "rm -rf p && cp -a "+beginning+" p") // with commits of the same time
		}
		o.env = append(o.env, "GIT_AUTHOR_DATE=2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2024-01-01T00:00:00Z")
		secret := func(more string) {
			common := ""
			if more != "old" {
				common = strings.Repeat("as in the other\n", 30)
			}
			filetest.Write(t, filepath.Join(o.project, ".env"), "same\nKEY="+strings.Repeat(letter, 4)+more+" \r\nother\n"+common)
		}
		secret("old")
		o.run(o.project, "git add .env && git commit -qm one")
		secret("now")
		o.run(o.project, "git commit -qam two && git branch topic HEAD~1 && git checkout -q topic")
		secret("top")
		o.run(o.project, "git commit -qam two && git checkout -q main")
		secret("put")
		if o.run(o.project, "git stash -q && echo done") != "done\n" {
			t.Fatal("git fails")
		}
		secret("new")
		both[i] = o
	}
	values := map[string][]string{
		"-S": {"KEY=A", "KEY=Anew"}, "-G": {"KEY=AA", "^KEY=A", "AAAnew"}, "--ignore-matching-lines": {"KEY=A", "same"}, "-L": {"2,2:.env", "/KEY=A/,+1:.env"}, "--anchored": {"KEY=A"},
		"--find-object": {"HEAD:.env"}, "--format": {"%H%n"}, "--pretty": {"oneline", "%s"}, "--word-diff": {"plain", "porcelain"}, "--word-diff-regex": {"."}, "--color-words": {"."}, "--submodule": {"diff"},
		"--diff-filter": {"M"}, "--diff-algorithm": {"patience"}, "--date": {"iso"}, "-O": {"a.txt"}, "--output": {"/dev/stdout"}, "--abbrev": {"12"}, "--relative": {"more"}, "--exclude": {"x"},
	}
	digits := regexp.MustCompile(`[0-9a-f]{7,64}`)
	table := effectstest.Table(t)
	options := map[string][]string{}
	for _, sub := range []string{"log", "whatchanged", "shortlog", "show", "diff", "diff-tree", "diff-index", "diff-files", "reflog", "format-patch", "rev-list", "range-diff"} {
		for _, name := range slices.Sorted(maps.Keys(table.Program("git").Subs[sub].Options)) {
			option := table.Program("git").Subs[sub].Options[name]
			given := values[option.Canonical]
			if given == nil || option.Arity == programs.ArityNone {
				given = []string{"1"}
			}
			for _, value := range given {
				switch {
				case option.Arity == programs.ArityNone:
					options[sub] = append(options[sub], name)
				case strings.HasPrefix(name, "--"):
					options[sub] = append(options[sub], name+"='"+value+"'")
				default:
					options[sub] = append(options[sub], name+"'"+value+"'")
				}
				if option.Arity == programs.ArityOptional {
					options[sub] = append(options[sub], name)
				}
			}
		}
	}
	options["stash"] = options["diff"]
	words := map[string][]string{
		"log": {".env", "-- .env", "main -- .env"}, "whatchanged": {".env", "main -- .env"}, "shortlog": {"main -- .env", "HEAD .env"}, "show": {"HEAD -- .env", "main .env", "HEAD:.env"},
		"diff": {".env", "-- .env", "HEAD .env", "HEAD~1 -- .env", "--cached HEAD~1 .env", "main topic -- .env"}, "diff-tree": {"-r HEAD~1 HEAD .env", "HEAD .env"}, "diff-index": {"HEAD .env", "--cached HEAD~1 -- .env"},
		"diff-files": {".env", "-- .env"}, "reflog": {"-- .env"}, "format-patch": {"--stdout HEAD~1 -- .env"}, "stash": {"-- .env", "stash@{0} -- .env"}, "rev-list": {"HEAD -- .env"},
		"range-diff": {"main~1..main topic~1..topic -- .env", "main...topic -- .env"},
	}
	plain := []string{"", "", "-p", "--stat", "--name-only", "--raw", "--quiet", "-s", "--check", "--summary", "--shortstat"}
	seed, rounds := testload.Seed(t), testload.Rounds(t, "PERMD_TEST_CONTENTS", 100, 6000)
	rnd := rand.New(rand.NewPCG(seed, 8))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	subs := slices.Sorted(maps.Keys(words))
	tells := func(text string) bool {
		var out [2]string
		for i, o := range both {
			out[i] = digits.ReplaceAllString(strings.ReplaceAll(o.run(o.project, text+"; echo $?"), o.top, ""), "X")
		}
		return out[0] != out[1]
	}
	reads := func(text string) bool {
		b := onDisk(table, both[0].top, both[0].project, text)
		return notUnderstood(b) || slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.File != nil && e.Guarded() != 0 })
	}
	told := 0
	check := func(text string) {
		if !tells(text) {
			return
		}
		told++
		if !reads(text) {
			t.Errorf("seed %d: %s tells what is in a secret that it does not read", seed, text)
		}
	}
	for range rounds {
		sub := pick(subs)
		name := sub
		if sub == "stash" {
			name = "stash show"
		}
		text := "git " + name + " " + pick(plain) + " " + pick(options[sub]) + " "
		if rnd.IntN(3) == 0 {
			text += pick(options[sub]) + " "
		}
		check(text + pick(words[sub]))
	}
	if told < rounds/20 {
		t.Errorf("seed %d: %d of %d commands tell something", seed, told, rounds)
	}
	t.Logf("%d of %d commands tell something", told, rounds)
	for _, text := range []string{
		"git diff --check .env", "git log --check .env", "git show --check HEAD -- .env", "git diff-files --check .env", "git diff-index --check HEAD .env", "git whatchanged --check .env",
		"git log --oneline -GKEY=A .env", "git log --oneline -SKEY=A .env", "git diff --quiet -GKEY=A .env", "git diff --name-only -G KEY=A .env", "git diff --stat -IKEY=A .env",
		"git diff-tree -r --name-only -GKEY=A HEAD~1 HEAD .env", "git range-diff main~1..main topic~1..topic -- .env", "git log -L2,2:.env",
	} {
		if !tells(text) {
			t.Errorf("%s tells nothing", text)
		}
		check(text)
	}
	for _, text := range []string{
		"git diff --stat .env", "git diff --name-only .env", "git log --oneline .env", "git log --stat -3 -- .env", "git log --graph --all --decorate -- .env", "git show --stat HEAD -- .env", "git shortlog -sn HEAD -- .env", "git diff-index --name-status HEAD .env",
		"git log -GKEY=A", "git log -p", "git diff -w", "git log -SKEY -- a.txt", "git diff --check", "git diff --check a.txt", "git stash list", "git stash show", "git reflog -5", "git log -C -- a.txt", "git -C more log --oneline -- b.txt",
	} {
		if reads(text) {
			t.Errorf("%s asks", text)
		}
	}
	for _, text := range []string{"git log -C -C --stat a.txt", "git diff --find-copies-harder --name-status HEAD~1", "git blame -C -C a.txt"} {
		b := onDisk(table, both[0].top, both[0].project, text)
		if !slices.ContainsFunc(b.Asides, func(e effects.Effect) bool {
			return e.File != nil && e.File.Recursive && e.File.Path == both[0].project
		}) {
			t.Errorf("%s, which looks in all files for what one has, reads none", text)
		}
	}
}
