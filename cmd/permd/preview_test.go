package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/admin"
)

// pastCall is a call that is made again and again.
type pastCall struct {
	in, tool string
	input    map[string]string
}

// pastRequest is a call in the log, by its number.
type pastRequest struct {
	call   int
	denied bool
}

// TestPreviewIsTrue: what a preview says of past requests is what the choice does with the same
// calls, sent again.
func TestPreviewIsTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it sends all calls again for each choice; TestPreviewCommands is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	files := map[string]string{"go.mod": "module m\n", "a.go": "package m\n", "b.txt": "b\n", "x.sh": "echo 1\n", "package.json": `{"scripts": {"test": "echo 1"}}`, ".env": "A=b\n"}
	shop := d.project(t, files)
	other := filepath.Join(d.home, "other")
	for name, text := range files {
		writeFile(t, filepath.Join(other, name), text)
	}
	writeFile(t, filepath.Join(other, ".git", "HEAD"), "ref: refs/heads/main\n")
	p := d.asks(t, shop)
	var calls []*pastCall
	for _, in := range []string{"s", "below", "elsewhere"} {
		for _, command := range []string{
			"go test ./a", "go test ./a -run X", "go vet ./...", "go test ./a && frob x", "npm test", "frob", "frob x", "frob --force", "rm b.txt", "rm -rf /",
			"cat .env", "curl https://x.example/a", "curl -d @b.txt https://x.example/", "sh x.sh", "git push", "echo a > c.txt", "ls", "A=b go test ./a",
		} {
			calls = append(calls, &pastCall{in: in, tool: "Bash", input: map[string]string{"command": command}})
		}
		dir := map[bool]string{false: shop, true: other}[in == "elsewhere"]
		for _, name := range []string{"a.go", "d/e.go", ".env"} {
			calls = append(calls, &pastCall{in: in, tool: "Write", input: map[string]string{"file_path": filepath.Join(dir, name), "content": "x"}})
			calls = append(calls, &pastCall{in: in, tool: "Read", input: map[string]string{"file_path": filepath.Join(dir, name)}})
		}
		calls = append(calls, &pastCall{in: in, tool: "WebFetch", input: map[string]string{"url": "https://x.example/", "prompt": "p"}})
	}
	var log []pastRequest
	var total, denied, none, unknown int
	// send sends all calls; uses, if not nil, is the count of uses of what is in force.
	send := func(uses func() int64) (matched []bool) {
		// Sessions of their own, as calls leave shells in folders that are not known.
		of := map[string]string{}
		for _, in := range []string{"s", "below", "elsewhere"} {
			of[in] = fmt.Sprint(in, len(log))
			p.session(of[in], map[bool]string{false: shop, true: other}[in == "elsewhere"], map[bool]string{true: of["s"]}[in == "below"])
		}
		for i, c := range calls {
			before := int64(0)
			if uses != nil {
				before = uses()
			}
			got := p.ask(of[c.in], c.tool, c.input)
			matched = append(matched, uses != nil && uses() > before)
			log = append(log, pastRequest{i, got.Verdict == decisions.Deny})
		}
		return matched
	}
	send(nil)
	inScope := func(c *pastCall, scope string) bool { return scope == "user" || c.in != "elsewhere" }
	// compare stores a choice and compares what it does with what was said of it. A call that can
	// be told of neither way counts as unknown.
	compare := func(name, scope string, said *admin.Preview, store func()) {
		t.Helper()
		if said.Refused != "" {
			t.Errorf("%s is refused: %s", name, said.Refused)
			return
		}
		before := log
		store()
		matched := send(func() int64 { return d.uses(t) })
		want, most := admin.Preview{}, 0
		for _, r := range slices.Backward(before) {
			c := calls[r.call]
			if !inScope(c, scope) {
				continue
			}
			if most++; want.Requests == said.Requests {
				continue // more than are looked at, in number or in time
			}
			want.Requests++
			secret := c.tool == "Write" && filepath.Base(c.input["file_path"]) == ".env" // not kept
			switch {
			case secret && (said.Choices[0].Verdict == decisions.Deny || said.Choices[0].Kind == "write"):
				want.Unknown++
			case matched[r.call]:
				want.Matched++
				if r.denied {
					want.Denied++
				}
			}
		}
		if counted(said) != counted(&want) || said.Requests == 0 && most > 0 {
			t.Errorf("%s: the preview is %s, and it is %s of %d", name, counted(said), counted(&want), most)
		}
		unknown += want.Unknown
		total, denied = total+want.Matched, denied+want.Denied
		if want.Matched == 0 {
			none++
		}
		d.permd(t, "remember", "forget", "--all")
	}
	preview := func(params admin.PreviewParams) []admin.Preview {
		list, err := choices.Previews(t.Context(), d.dialAdmin(t), params)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, n := range testload.SampleOf(t, 5, []admin.NewChoice{
		{Verdict: "allow", Kind: "run", Line: "go test *"}, {Verdict: "deny", Kind: "run", Line: "frob"},
		{Verdict: "allow", Kind: "write", Line: "./**"}, {Verdict: "allow", Kind: "run", Line: "npm test"},
		{Verdict: "allow", Kind: "run", Line: "go test ./a"}, {Verdict: "allow", Kind: "connect", Line: "x.example"},
		{Verdict: "allow", Kind: "read", Line: "./.env"}, {Verdict: "deny", Kind: "delete", Line: "./b.txt"}, {Verdict: "deny", Kind: "run", Line: "rm *"},
		{Verdict: "deny", Kind: "connect", Line: "*.x.example"}, {Verdict: "allow", Kind: "run", Line: "nothing *"},
		{Verdict: "deny", Kind: "read", Line: "./a.go"},
	}, func(n admin.NewChoice) string {
		if slices.Contains([]string{"rm *", "./**", "nothing *"}, n.Line) {
			return n.Line // matches a denied call, one that cannot be told, nothing
		}
		return ""
	}) {
		for _, scope := range []string{"project", "user"} {
			n.Scope, n.Dir = scope, shop
			if scope == "user" && strings.HasPrefix(n.Line, "./") {
				n.Line = shop + n.Line[1:]
			}
			if scope == "user" && n.Line == "npm test" {
				continue // it is bound to its project
			}
			said := preview(admin.PreviewParams{Add: &n})
			compare(fmt.Sprintf("%+v", n), scope, &said[0], func() {
				if err := d.manage(t, admin.MethodChoicesAdd, n, nil); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	if total == 0 || denied == 0 || none == 0 || unknown == 0 {
		t.Errorf("nothing was tried: %d matched, %d of them denied, %d matched nothing, %d unknown", total, denied, none, unknown)
	}
}

// TestPreviewOfWidths: what a preview says of the widths of a question is what an answer does.
func TestPreviewOfWidths(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it sends all calls again for each choice; TestPreviewCommands is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, map[string]string{"package.json": `{"scripts": {"test": "echo 1"}}`})
	commands := []string{"go test ./a", "go test ./b", "go test ./a -run X", "npm test", "curl https://x.example/a", "curl https://x.example/b", "frob", "go test ./a && frob"}
	type sent struct {
		command string
		denied  bool
	}
	var log []sent
	send := func(command string) (matched bool) {
		d.hook(t, "cursor", hookInput(hookShell[8].in, project, command))
		// The choice's uses say less: open questions are decided again meanwhile.
		recs := slices.DeleteFunc(d.recordsThat(t, decisions.RecordFilter{Session: "s"}), func(r decisions.Record) bool { return r.Reconsiders != "" })
		matched = slices.ContainsFunc(recs[len(recs)-1].Decision.Effects, func(e decisions.EffectDecision) bool { return e.ChoiceID != "" })
		log = append(log, sent{command, false})
		return matched
	}
	for range 2 {
		for _, command := range commands {
			send(command)
		}
	}
	total := map[decisions.Verdict]int{}
	// try compares what is said of a width of a yes or a no with what its answer does, and reports
	// whether there is such a width.
	try := func(command, scope string, verdict decisions.Verdict, w int) bool {
		t.Helper()
		send(command)
		list := objects[admin.Question](t, d, "allow")
		q := list[len(list)-1]
		widths := map[decisions.Verdict][]decisions.Width{decisions.Allow: q.Widths, decisions.Deny: q.RejectWidths}[verdict]
		if w >= len(widths) {
			return false
		}
		said, err := choices.Previews(t.Context(), d.dialAdmin(t), admin.PreviewParams{DecisionIDs: []string{q.DecisionID}, Scope: scope, Verdict: verdict})
		if err != nil || len(said) != len(widths) {
			t.Fatalf("%s: %d previews, %v", command, len(said), err)
		}
		one := &said[w]
		var answer any = admin.Approval{DecisionID: q.DecisionID, Width: widths[w].ID, Scope: scope}
		method := admin.MethodQuestionsAllow
		if verdict == decisions.Deny {
			method, answer = admin.MethodQuestionsDeny, admin.Denial{DecisionID: q.DecisionID, Width: widths[w].ID, Scope: scope}
		}
		stored := d.manage(t, method, answer, nil)
		if (stored != nil) != (one.Refused != "") {
			t.Errorf("%s, %s, %q: %v, and the preview says %q", command, widths[w].ID, scope, stored, one.Refused)
		}
		if stored != nil {
			return true
		}
		before, matched := log, map[string]bool{}
		for _, command := range commands {
			if matched[command] = send(command); matched[command] {
				log[len(log)-1].denied = verdict == decisions.Deny
			}
		}
		// On a slow machine not all are looked at, but the newest.
		want := admin.Preview{Requests: max(1, min(one.Requests, len(before)))}
		for _, r := range before[len(before)-want.Requests:] {
			if matched[r.command] {
				want.Matched++
				if r.denied {
					want.Denied++
				}
			}
		}
		log[len(before)-1].denied = verdict == decisions.Deny // it was answered
		if counted(one) != counted(&want) {
			t.Errorf("%s, %s, %q: the preview is %s, and it is %s", command, widths[w].ID, scope, counted(one), counted(&want))
		}
		total[verdict] += want.Matched
		d.permd(t, "remember", "forget", "--all")
		return true
	}
	for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
		for _, command := range testload.Sample(t, 1, commands) {
			for _, scope := range map[decisions.Verdict][]string{decisions.Allow: {"", "session", "user"}, decisions.Deny: {"", "user"}}[verdict] {
				for w := 0; try(command, scope, verdict, w); w++ {
				}
			}
		}
	}
	if total[decisions.Allow] == 0 || total[decisions.Deny] == 0 {
		t.Errorf("nothing was tried: %v", total)
	}
}

// previewDamaged: what cannot be read of past calls counts as what cannot be told, and a choice is
// stored whether it can be previewed or not.
func previewDamaged(t *testing.T) {
	d := startDaemon(t)
	project := d.project(t, nil)
	p := d.asks(t, project)
	var ids []string
	for range 3 {
		ids = append(ids, p.bash("go test ./x").ID)
	}
	d.waitKept(t, ids...)
	file := d.argumentFiles(t)[0]
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := admin.NewChoice{Verdict: "allow", Kind: "run", Line: "go test *", Scope: "project", Dir: project}
	for damaged, want := range map[string]string{
		string(text): "3 of 3, 0 denied, 0 unknown", "": "0 of 3, 0 denied, 3 unknown", "\x00\n[]\n{": "0 of 3, 0 denied, 3 unknown",
		strings.ReplaceAll(string(text), "go test ./x", "go test ./y"): "0 of 3, 0 denied, 3 unknown",
		"{\"id\":\"" + ids[0] + "\",\"n\":9}\n":                        "0 of 3, 0 denied, 3 unknown",
	} {
		if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := choices.Previews(t.Context(), d.dialAdmin(t), admin.PreviewParams{Add: &n})
		if err != nil || len(said) != 1 || counted(&said[0]) != want {
			t.Errorf("%q: %s, %v, want %s", damaged, counted(&said[0]), err, want)
		}
	}
	folder := filepath.Dir(file)
	if err := errors.Join(os.Rename(folder, folder+".away"), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := printed(d.command("remember", "add", "run", "go test *", "--dir", project, "--dry-run")); code != 1 || out != "" || !strings.Contains(errs, "could not be read") {
		t.Errorf("a dry run: %d %s%s", code, out, errs)
	}
	if list := d.choiceLines(t); list != "" {
		t.Errorf("there are choices: %s", list)
	}
	previewLess(t, d, project)
	if out := d.permd(t, "remember", "add", "run", "go test *", "--dir", project); strings.Contains(out, "would have") {
		t.Errorf("added: %s", out)
	}
	p.is(p.bash("go test ./x"), decisions.Allow, decisions.ByMemory)
}

// previewLess: where nothing can be counted, the forms of both pages say why, and change what they are
// asked to.
func previewLess(t *testing.T, d *testDaemon, project string) {
	t.Helper()
	const why = "what it would have matched is not known: the log, or the arguments that are kept, could not be read"
	id := strings.Fields(d.permd(t, "remember", "add", "run", "frob build", "--dir", project))[0]
	d.blocks(t, project, "curl -X POST https://api.example.com/v1")
	question := d.waiting(t, 1)[0]
	r := newReviewer(t, d)
	for page, form := range map[string]url.Values{
		"counts/choice":   {"id": {id}, "line": {"frob *"}, "former": {"frob build"}},
		"counts/question": {"known": {question}, "counted": {"w1", "r1"}},
	} {
		if status, text := r.post(page, "questions", form); status != http.StatusOK || !strings.Contains(text, why) {
			t.Errorf("%s: %d %s", page, status, text)
		}
	}
	hostile := `"><script>x</script>`
	if status, text := r.post("counts/question", "questions", url.Values{"known": {hostile}, "counted": {hostile}, "scope": {hostile}}); status != http.StatusOK || strings.Contains(text, "<script>") || !strings.Contains(text, "is not known: ") {
		t.Errorf("what there is not: %d %s", status, text)
	}
	if status, text := r.post("questions/"+question, "questions", url.Values{"answer": {"deny"}, "never": {"r1"}}); status != http.StatusOK || !strings.Contains(text, "remembered: deny ") {
		t.Errorf("a no: %d %s", status, text)
	}
	page := terminalOf(t, d, 80, 24, nil, "review")
	page.keys("3")
	page.shows("> allow run frob build")
	page.keys("c", "Down", "l", "l")
	page.shows("> ends: 1 hour", why, "enter does it")
	page.keys("Enter")
	page.shows("now: allow run frob build")
	d.permd(t, "remember", "forget", "--all")
}

// uses counts how often what is remembered has matched.
func (d *testDaemon) uses(t *testing.T) (n int64) {
	t.Helper()
	var list admin.Choices
	if err := d.manage(t, admin.MethodChoicesList, struct{}{}, &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Choices {
		n += list.Choices[i].Matches
	}
	return n
}

func counted(p *admin.Preview) string {
	return fmt.Sprintf("%d of %d, %d denied, %d unknown", p.Matched, p.Requests, p.Denied, p.Unknown)
}
