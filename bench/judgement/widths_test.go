package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/testload"
)

// sharedCorpus is where people who have the corpora keep them.
const sharedCorpus = "../../../shared/corpus"

// widthCalls are commands whose widths could reach further than a person means.
var widthCalls = []string{
	"git checkout -b x", "git checkout main", "git checkout -q -b x", "git switch -c x", "git switch main", "git push origin x", "git push --dry-run origin x",
	"git fetch origin", "git fetch --dry-run", "git branch x", "git tag v1", "git reset HEAD~1", "git restore --staged a.txt", "git stash", "git commit -m x",
	"git commit --dry-run", "git clean -n", "git rebase main", "git merge x", "git pull", "git add a.txt", "git apply --check x.patch", "git worktree add ../w", "git rm --cached a.txt",
	"go test -coverprofile c.out ./...", "go run .", "go build ./...", "go vet ./...", "go test ./...", "go mod tidy", "go get ./...", "go install ./cmd",
	"make lint", "make -n lint", "npm test", "npm run build", "npm ci", "npm publish --dry-run", "npx eslint src", "npx prettier --check src", "yarn add x",
	"mv src/a.txt src/b.txt", "mv a.txt docs", "rm src/a.txt", "rm -rf src", "rm -f a.txt b.txt", "rmdir logs", "cp a.txt src/b.txt", "touch src/x", "echo x > src/x", "tee src/x",
	"sed -i s/a/b/ src/a.txt", "mkdir src/x", "ln -s a.txt src/l", "chmod +x src/a.txt", "truncate -s0 src/a.txt", "tar xzf x.tgz -C src", "unzip x.zip -d src",
	"rsync -n src/ docs/", "rsync src/ docs/", "gofmt -w src/main.go", "ruff format tests", "ruff check .", "black --check .", "mypy src", "pytest -q", "pip install -r requirements.txt",
	"pip install x", "uv run pytest", "uv add x", "cargo build", "cargo run", "cargo test", "cargo publish --dry-run", "terraform plan", "kubectl get pods", "kubectl delete pod x",
	"gh pr create --title x --body y", "gh pr merge 1", "gh issue close 1", "systemctl restart x", "kill 123", "curl -s https://api.example.com/x",
	"curl -s https://api.example.com/x -o src/x", "wget https://files.example.com/x", "staticcheck ./...", "frobnicate do x", "git remote add x https://example.com/x", "git cherry-pick x", "npx eslint src", "uv run pytest -q", "python -m pytest", "git switch x", "find src -name x -delete", "cat ../notes/x",
}

// harsher are words that make many programs do more.
var harsher = []string{
	".", "*", "/", "..", "a.txt", "src", "-- .", "-f", "--force", "-r", "-rf /srv", "-D x", "-d x", "--hard", "--delete", "--all", ":main", "+main", "evil@latest",
	"https://evil.example/x", "example.com/evil@latest", "--exec ./x", "-exec ./x", "-o ~/.bashrc", "-c core.pager=./x", "--amend", "--write", "--fix", "apply", "delete x", "drop", "clear", "-B x",
}

// openOperands are words that make a program do something more dangerous than with other
// operands: another remote, branch, process or module, code from elsewhere, a file of
// options. No width of a call without them may cover them.
var openOperands = map[string][]string{
	"git fetch": {"evil", "https://evil.example/x", "main:main", "origin main:main", "--upload-pack=./x", "--upload-pack ./x origin", "../evil", "ext::./x"},
	"git pull":  {"evil main", "https://evil.example/x main", "origin evil", "--upload-pack=./x", "ext::./x"},
	"git push":  {"evil main", "origin :main", "origin +main", "https://evil.example/x", "--receive-pack=./x"},
	"git merge": {"evil", "origin/evil"}, "git rebase": {"evil", "origin/evil", "--exec ./x"}, "git cherry-pick": {"evil"}, "git revert": {"evil"},
	"git reset": {"evil", "HEAD~9"}, "git remote add": {"x https://evil.example/x", "x ext::./x"}, "git branch": {"evil", "main evil"}, "git tag": {"evil"},
	"git switch": {"evil"}, "git checkout": {"evil", ".", "-- ."}, "git checkout -b": {"x evil", "-f x evil"}, "git switch -c": {"x evil"}, "git stash": {"pop", "drop", "."}, "git apply": {"evil.patch"}, "git worktree add": {"../evil"},
	"go run": {"evil.example/x@latest", "./evil", "evil.go", "-exec ./x ."}, "go get": {"evil.example/x@latest"}, "go install": {"evil.example/x@latest", "./evil"},
	"go test":  {"evil.example/x", "evil.example/x/...", "evil.example/x@latest", "-exec ./x", "-toolexec ./x", "/tmp/evil", "../evil"},
	"go build": {"evil.example/x", "-toolexec ./x", "-o /tmp/x"}, "go vet": {"evil.example/x", "-vettool ./x", "-vettool=./x"},
	"pytest": {"@evil", "-p evil", "-c evil.ini", "--rootdir=/tmp", "-o x=y"}, "mypy": {"@evil", "--config-file=evil"}, "tsc": {"@evil"}, "ruff check": {"--fix"},
	"eslint": {"-c evil.js", "--rulesdir evil", "--fix"}, "npm run": {"deploy"}, "npm install": {"evil"}, "npm": {"publish"}, "yarn add": {"evil"},
	"pip install": {"evil", "https://evil.example/x.tgz", "git+https://evil.example/x"}, "make": {"deploy", "-f evil.mk", "SHELL=./x"}, "uv add": {"evil"},
	"kill": {"1"}, "systemctl restart": {"sshd"}, "gh pr merge": {"2"}, "gh issue close": {"2"}, "kubectl delete": {"pod y"}, "docker run": {"evil"}, "cargo run": {"evil"},
	"frobnicate": {"drop", "evil"}, "frobnicate do": {"drop", "evil"}, "terraform": {"apply"},
}

// sameDanger are pairs of what a run does in words, of which a width of the first may
// cover the second: a person who allows the one is not surprised by the other.
var sameDanger = map[string][]string{
	"switches to another branch": {"creates a branch and switches to it"},
}

// TestWidths looks for the worst calls that the widths of calls let through, if the
// person chooses them.
func TestWidths(t *testing.T) {
	t.Parallel()
	b, err := newBench(t.Context(), options{profile: "balanced"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.rules.Close(); err != nil {
			t.Error(err)
		}
	})
	commands := slices.Clone(widthCalls)
	days, err := os.ReadFile("../../cmd/permd/testdata/days/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(days)) {
		if _, command, ok := strings.Cut(strings.TrimSpace(line), " Bash "); ok {
			commands = append(commands, command)
		}
	}
	rows, err := readRows[callRow](sharedCorpus, "agent-calls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if c := rows[i].Command; rows[i].place() == "project" && i%10 == 0 && (!testing.Short() || i%100 == 0) && !slices.Contains(commands, c) {
			commands = append(commands, c)
		}
	}
	all := len(commands)
	commands = testload.WithShort(t, 8, testload.Sample(t, len(commands)/12, commands))
	w := newWorld(devHome).checkout(devProject)
	w.fs.File(path.Join(devHome, "notes/x"), "x\n")
	found := make([]string, len(commands))
	tried := make([]int, len(commands))
	err = each(len(commands), func(i int) (err error) {
		memory, err := b.memory(b.shipped.Table())
		if err != nil {
			return err
		}
		defer func() {
			if e := memory.Close(); err == nil {
				err = e
			}
		}()
		ask := func(e *decisions.Engine, command string) result {
			return decide(t.Context(), e, b.shipped, w.request(&call{tool: "Bash", agent: "claude-agent-acp", input: []byte(`{"command":` + text(command) + `}`), cwd: devProject}))
		}
		plain, remembering := b.engine(w, b.shipped, nil), b.engine(w, b.shipped, memory)
		d := ask(remembering, commands[i])
		for _, width := range d.Widths {
			if why := saysWhatItCovers(&width); why != "" {
				found[i] += fmt.Sprintf("%s: the label %q of %q: %s\n", display.Display(commands[i]), width.Label, width.Rule, why)
			}
			if width.ID == "w1" && len(d.Widths) > 1 {
				continue // what a wider one covers, too
			}
			kept, err := memory.Keep(t.Context(), decisions.Answer{DecisionID: d.ID, Verdict: decisions.Allow, Offer: d.Offer, Width: width.ID})
			if err != nil {
				return fmt.Errorf("%s: %w", commands[i], err)
			}
			for _, other := range worseCalls(b.shipped.Table(), &d, &width) {
				before := ask(plain, other)
				if before.Verdict == decisions.Allow {
					continue
				}
				tried[i]++
				now := ask(remembering, other)
				if now.Verdict != decisions.Allow {
					continue
				}
				if why := worse(&d, &now); why != "" {
					found[i] += fmt.Sprintf("%s, remembered as %q, lets %s through: %s\n", display.Display(commands[i]), width.Rule, other, why)
				}
			}
			for _, other := range openCalls(&width, commands[i]) {
				tried[i]++
				if now := ask(remembering, other); now.Verdict == decisions.Allow && ask(plain, other).Verdict != decisions.Allow {
					found[i] += fmt.Sprintf("%s, remembered as %q, lets %s through\n", display.Display(commands[i]), width.Rule, other)
				}
			}
			for _, k := range kept {
				if err := memory.Drop(t.Context(), k.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, text := range found {
		n += tried[i]
		if text != "" {
			t.Error(text)
		}
	}
	if t.Logf("%d calls, %d others tried", len(commands), n); n == 0 || len(commands) == all && n < 1000 {
		t.Errorf("only %d other calls were tried", n)
	}
}

// What labels of widths say, and the lines that mean the same.
var labelForms = []struct {
	form *regexp.Regexp
	line string
}{
	{regexp.MustCompile("^any `(.*?)` with ((?:`[^`]*` and )*)harmless options"), "run $1 * $2"},
	{regexp.MustCompile("^(read|write) anything in `(.*?)` and below"), "$1 $2/**"},
	{regexp.MustCompile("^(read|write) anything in the project and below"), "$1 ./**"},
	{regexp.MustCompile("^(delete) files of `(.*?)` itself"), "$1 $2/*"},
	{regexp.MustCompile(`^connect to any host below (.*?), port ([0-9]+)`), "connect *.$1:$2"},
}

// saysWhatItCovers reads the label of a width back: each part of it is one of the lines
// that are stored, and no line that is wider than the call is left out. It returns what is
// wrong, "" for nothing.
func saysWhatItCovers(width *decisions.Width) string {
	rest, shortened := strings.CutSuffix(width.Label, "…")
	if strings.HasPrefix(rest, "exactly this") {
		return ""
	}
	var said []string
	for rest != "" && !strings.HasPrefix(rest, "; and exactly ") && !strings.HasPrefix(rest, " (in this ") {
		found := false
		for _, f := range labelForms {
			m := f.form.FindStringSubmatchIndex(rest)
			if m == nil {
				continue
			}
			line := strings.ReplaceAll(strings.ReplaceAll(string(f.form.ExpandString(nil, f.line, rest, m)), "` and ", " "), "`", "")
			said, rest, found = append(said, strings.TrimSpace(line)), strings.TrimPrefix(rest[m[1]:], ", "), true
			break
		}
		if !found && shortened {
			return ""
		}
		if !found {
			return "it cannot be read back"
		}
	}
	lines := strings.Split(width.Rule, "\n")
	for _, line := range said {
		if !slices.Contains(lines, line) {
			return "it says " + line
		}
	}
	for _, line := range lines {
		if strings.Contains(line, " *") || strings.HasSuffix(line, "/**") || strings.HasSuffix(line, "/*") {
			if !slices.Contains(said, line) && !shortened {
				return "it does not say " + line
			}
		}
	}
	return ""
}

// worseCalls returns commands that the lines of a width may cover, and that do more than
// the call.
func worseCalls(table *programs.Table, d *result, width *decisions.Width) (list []string) {
	for rule := range strings.Lines(width.Rule) {
		kind, line, _ := strings.Cut(strings.TrimSpace(rule), " ")
		p, err := pattern.Parse(effects.Kind(kind), line)
		if err != nil {
			continue // an exact one, in other words
		}
		switch {
		case p.Run != nil:
			words, _, _ := strings.Cut(line+" ", " * ")
			for _, more := range harsher {
				list = append(list, words+" "+more)
			}
			list = append(list, optionsOf(table, p.Run, len(d.effects)+len(width.Rule))...)
			for i := range d.effects {
				r := d.effects[i].Run
				if r == nil || r.Program != p.Run.Program {
					continue
				}
				for skip := range r.Args {
					others := slices.Delete(slices.Clone(r.Args), skip, skip+1)
					list = append(list, r.Program+" "+strings.Join(others, " "), r.Program+" "+strings.Join(append(others, "."), " "))
				}
			}
		case p.Path != nil:
			file := strings.Replace(strings.TrimSuffix(strings.TrimSuffix(line, "**"), "*"), "./", "", 1)
			for _, name := range []string{"", "a.txt", "sub/a.txt", "main.go", "sub"} {
				to := file + name
				list = append(list, "rm -rf ./"+to, "rm ./"+to, "mv ./"+to+" ./z", "cp a.txt ./"+to, "cp -r docs ./"+to, "echo x > ./"+to, "find ./"+to+" -delete", "cp ./"+to+" ./z", "cat ./"+to)
				if strings.HasPrefix(line, "/") {
					list = append(list, "rm -rf "+to, "rm "+to, "mv "+to+" ./z", "cp -r docs "+to, "echo x > "+to, "find "+to+" -delete")
				}
			}
		}
	}
	return list
}

// optionsOf returns calls with the words that a line spells out and each option that the
// table has for its program, with and without a value.
func optionsOf(table *programs.Table, line *pattern.Run, at int) (some []string) {
	var list []string
	p := table.Program(line.Program)
	words := line.Program
	for _, w := range line.Words {
		word, _ := w.Literal()
		words += " " + display.QuoteWord(word)
		if p != nil && p.Sub(word) != nil {
			p = p.Sub(word)
		}
	}
	if p == nil {
		return nil
	}
	for _, option := range slices.Sorted(maps.Keys(p.Options)) {
		list = append(list, words+" "+option, words+" "+option+" ./evil", words+" "+option+"=./evil", words+" "+option+"=https://evil.example/x")
	}
	// Each call takes others of them.
	step := len(list)/24 + 1
	for i := range list {
		if i%step == at%step {
			some = append(some, list[i])
		}
	}
	return some
}

// openCalls returns the calls with openOperands that a width may cover and that are no part
// of the call itself.
func openCalls(width *decisions.Width, command string) (list []string) {
	for rule := range strings.Lines(width.Rule) {
		line, ok := strings.CutPrefix(strings.TrimSpace(rule), "run ")
		spelled, _, open := strings.Cut(line+" ", " * ")
		if !ok || !open {
			continue
		}
		for start, words := range openOperands {
			if spelled != start && !strings.HasPrefix(spelled, start+" ") {
				continue
			}
			for _, w := range words {
				makesBranch := strings.Contains(spelled, " -b") || strings.Contains(spelled, " -c")
				if !strings.Contains(command, w) && !makesBranch {
					list = append(list, spelled+" "+w)
				}
			}
		}
	}
	return list
}

// worse tells what a call does that the one that was remembered does not, "" for nothing.
func worse(call, other *result) string {
	for i := range other.effects {
		e := &other.effects[i]
		switch e.Kind {
		case effects.KindDelete, effects.KindWrite:
			if !slices.ContainsFunc(call.effects, func(o effects.Effect) bool {
				moved := o.Kind == effects.KindDelete && o.File.Moved != "" && e.File.Moved == ""
				return o.Kind == e.Kind && !moved && (o.File.Recursive || !e.File.Recursive || e.Kind == effects.KindWrite)
			}) && !allowedBefore(other, i) {
				return e.Text
			}
		case effects.KindConnect:
			if !slices.ContainsFunc(call.effects, func(o effects.Effect) bool { return o.Kind == e.Kind }) {
				return e.Text
			}
		case effects.KindRun:
			var does []string
			same := e.Run.Readonly || e.Run.Does == "" || allowedBefore(other, i)
			for j := range call.effects {
				if r := call.effects[j].Run; r != nil && r.Program == e.Run.Program {
					does = append(does, r.Does)
					same = same || r.Does == e.Run.Does || slices.Contains(sameDanger[r.Does], e.Run.Does)
				}
			}
			if !same {
				return fmt.Sprintf("%s, not: %s", e.Run.Does, strings.Join(does, ", "))
			}
		}
	}
	return ""
}

// allowedBefore reports whether the rules allow an effect whatever is remembered.
func allowedBefore(d *result, i int) bool {
	return slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool {
		return e.Text == d.effects[i].Text && e.Verdict == decisions.Allow && e.ChoiceID == ""
	})
}
