package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/socket/admin"
)

// answered returns the newest record with an answer.
func (d *testDaemon) answered(t *testing.T) *decisions.Record {
	t.Helper()
	recs := d.records(t)
	slices.SortFunc(recs, func(a, b decisions.Record) int { return int(a.Seq - b.Seq) })
	for _, r := range slices.Backward(recs) {
		if r.Answer != nil {
			return &r
		}
	}
	t.Fatal("no question was answered")
	return nil
}

// wantAuthor wants the newest answer to be from there, of a process of this person: of this one, or of
// a process of permd.
func (d *testDaemon) wantAuthor(t *testing.T, via author.Via, own bool) *decisions.Record {
	t.Helper()
	r := d.answered(t)
	d.wantAuthorOf(t, r.Answer.Author, via, own)
	return r
}

func (d *testDaemon) wantAuthorOf(t *testing.T, by *author.Identity, via author.Via, own bool) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case by == nil:
		t.Errorf("the answer has no author, want %s", via)
	case by.Via != via || by.UID != uint32(os.Getuid()) || (by.PID == int32(os.Getpid())) != own || by.PID <= 0:
		t.Errorf("the author is %+v, want %s of this process: %t", by, via, own)
	case own && !strings.HasPrefix(filepath.Base(program), by.Process), !own && by.Process == "", by.Process == "":
		t.Errorf("the process is %q", by.Process)
	}
}

// TestAuthorWays: in whatever way an answer comes, it is recorded who gave it.
func TestAuthorWays(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it answers at every gate; TestAuthor is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	for _, f := range lateForms {
		t.Run(f.name, func(t *testing.T) {
			l := &late{t, d, d.dial(t), projectOf(t)}
			l.write("run.sh", "echo 1\n")
			l.write("data", "1\n")
			l.session(l.project, "default")
			var before int64
			if recs := d.records(t); len(recs) > 0 {
				before = recs[len(recs)-1].Seq
			}
			if !f.ask(l)() {
				t.Fatal("it may not run")
			}
			via, own := author.Client, f.name != "permd acp"
			if f.name == "permd hook" || strings.HasPrefix(f.name, "permd/wait") {
				via, own = author.Command, false
			}
			if r := d.wantAuthor(t, via, own); r.Seq <= before {
				t.Errorf("the answer is to %+v, which was asked before", r)
			}
		})
	}
}

// TestAuthor: who answered is what the kernel says of who connected, and never what a message says; it is
// shown wherever the answer is, and told to who comes second.
func TestAuthor(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.write("run.sh", "echo 1\n")
	l.session(l.project, "default")
	ask := func(command string) string {
		t.Helper()
		return l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", command, 1)))
	}
	const forged = `"via":"web","author":{"via":"web","uid":0,"pid":1,"process":"trusted"},"uid":0,"pid":1,"by":"root"`

	// The client that asked is one, whatever it says.
	id := ask("sh run.sh client")
	if _, err := l.say("permd/choose", `{"decisionId":%q,"verdict":"deny",`+forged+`}`, id); err != nil {
		t.Fatal(err)
	}
	if r := d.wantAuthor(t, author.Client, true); r.Decision.ID != id {
		t.Errorf("answered is %s, not %s", r.Decision.ID, id)
	}

	// A program on the management socket is one, too, and may say that it is a page, but no client.
	id = ask("sh run.sh admin")
	got := l.waits(id)
	for _, via := range []string{"client", "admin", "lock", "root", "allow"} {
		for _, method := range []string{admin.MethodQuestionsAllow, admin.MethodQuestionsDeny} {
			err := d.manage(t, method, json.RawMessage(fmt.Sprintf(`{"decisionId":%q,"via":%q}`, id, via)), nil)
			if err == nil || !strings.Contains(err.Error(), "via must be command, review or web") {
				t.Errorf("an author who says to be %s: %v", via, err)
			}
		}
	}
	if list := l.open(); len(list) != 1 || list[0].DecisionID != id {
		t.Fatalf("after answers that were refused wait %+v", list)
	}
	if err := d.manage(t, admin.MethodQuestionsAllow, json.RawMessage(fmt.Sprintf(`{"decisionId":%q,`+strings.Replace(forged, `"via":"web",`, "", 1)+`}`, id)), nil); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.err != nil || a.Answer != "allow" {
		t.Fatalf("the client hears %+v", a)
	}
	d.wantAuthor(t, author.Admin, true)

	// A command; who comes second hears of it, over either socket.
	id = ask("sh run.sh command")
	got = l.waits(id)
	d.permd(t, "allow", id, "--width", "w1", "--scope", "project")
	<-got
	r := d.wantAuthor(t, author.Command, false)
	by := r.Answer.Author
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	at := r.Answer.Time.Local().Format("15:04:05")
	for _, args := range [][]string{{"allow", id}, {"deny", id}} {
		_, errs, code := printed(d.command(args...))
		if want := "it is answered already: allowed at " + at + " by " + me.Username + ", by permd allow"; code != 1 || !strings.Contains(errs, want) {
			t.Errorf("permd %v: %d %s, want %s", args, code, errs, want)
		}
	}
	if d.wantAuthor(t, author.Command, false); *d.answered(t).Answer.Author != *by {
		t.Error("the second answer has changed the author")
	}

	// Wherever the answer is shown.
	full := fmt.Sprintf("%s, by permd allow (uid %d, pid %d, %s)", me.Username, by.UID, by.PID, by.Process)
	choice := r.Answer.Choices[0]
	for _, shown := range []struct {
		want string
		args []string
	}{
		{"author " + full, []string{"log", "show", id}},
		{"answered by the person: allow (" + me.Username + ", by permd allow)", []string{"explain", id}},
		{"said by " + full, []string{"remember", "show", choice}},
	} {
		if out := strings.Join(strings.Fields(d.permd(t, shown.args...)), " "); !strings.Contains(out, shown.want) {
			t.Errorf("permd %v lacks %q:\n%s", shown.args, shown.want, out)
		}
	}
	wire := encoded(t, by)
	for _, args := range [][]string{
		{"log", "show", id, "--json"}, {"log", "list", "--json"}, {"explain", id, "--json"}, {"remember", "show", choice, "--json"}, {"remember", "list", "--json"},
		{"log", "export"}, {"log", "export", "--format", "opa"},
	} {
		if out := d.permd(t, args...); !strings.Contains(strings.NewReplacer(" ", "", "\n", "").Replace(out), `"author":`+wire) {
			t.Errorf("permd %v lacks %s:\n%s", args, wire, out)
		}
	}
	table, err := csv.NewReader(strings.NewReader(d.permd(t, "log", "export", "--format", "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{"answered_via": "command", "answered_uid": strconv.Itoa(os.Getuid()), "answered_pid": strconv.Itoa(int(by.PID)), "answered_process": by.Process} {
		i, row := slices.Index(table[0], column), slices.IndexFunc(table, func(row []string) bool { return slices.Contains(row, id) })
		if i < 0 || row < 0 || table[row][i] != want {
			t.Errorf("column %d, %s, of row %d is not %s", i, column, row, want)
		}
	}
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.wantVerified(t)
}

// TestAuthorOfHarness: who answered a question of a harness, for once or for always, and who took a yes
// back.
func TestAuthorOfHarness(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	ask := func(command string) string {
		t.Helper()
		d.blocks(t, project, command)
		list := objects[admin.Question](t, d, "allow")
		return list[len(list)-1].DecisionID
	}
	d.permd(t, "deny", ask("frob no"))
	d.wantAuthor(t, author.Command, false)
	d.permd(t, "allow", ask("frob always"), "--width", "w1", "--scope", "user")
	always := d.wantAuthor(t, author.Command, false)
	d.permd(t, "deny", ask("frob never"), "--width", "r1", "--scope", "user")
	d.wantAuthor(t, author.Command, false)
	for _, c := range objects[admin.Choice](t, d, "remember", "list") {
		if d.wantAuthorOf(t, c.Author, author.Command, false); c.ID == always.Answer.Choices[0] && *c.Author != *always.Answer.Author {
			t.Errorf("the choice is of %+v, the answer of %+v", c.Author, always.Answer.Author)
		}
	}

	// Taken back by its id over the socket, and by a lock: who gave it, and who took it back.
	id := ask("frob back")
	d.permd(t, "allow", id)
	if err := d.manage(t, admin.MethodQuestionsDeny, admin.Denial{DecisionID: id, Via: author.Web}, nil); err != nil {
		t.Fatal(err)
	}
	r := d.wantAuthor(t, author.Web, true)
	d.wantAuthorOf(t, r.Answer.AllowedBy, author.Command, false)
	if out := strings.Join(strings.Fields(d.permd(t, "log", "show", id)), " "); !strings.Contains(out, "in the browser (uid") || !strings.Contains(out, "by permd allow (uid") {
		t.Errorf("permd log show: %s", out)
	}
	if _, errs, _ := printed(d.command("allow", id)); !strings.Contains(errs, "it is answered already: taken back at ") || !strings.Contains(errs, "in the browser") {
		t.Errorf("permd allow: %s", errs)
	}
	id = ask("frob locked")
	d.permd(t, "allow", id)
	d.permd(t, "lock")
	locked := d.wantAuthor(t, author.Lock, false)
	if locked.Decision.ID != id {
		t.Errorf("taken back is %s, not %s", locked.Decision.ID, id)
	}
	d.wantAuthorOf(t, locked.Answer.AllowedBy, author.Command, false)
	if err := d.stop(t); err != nil {
		t.Fatal(err)
	}
	d.wantVerified(t)
}

// authorForged: an answer that says to be another's is refused or that of who sent it, also if the sender
// goes away at once, and a call that was not allowed does not run.
func authorForged(t *testing.T) {
	d := startDaemon(t)
	l := &late{t, d, d.dial(t), projectOf(t)}
	l.write("run.sh", "echo 1\n")
	l.session(l.project, "default")
	id := l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", "sh run.sh", 1)))
	got := l.waits(id)
	send := func(members string) {
		t.Helper()
		c, err := net.Dial("unix", d.adminSocket())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprintf(c, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"decisionId":%q,%s}}`+"\n", admin.MethodQuestionsAllow, id, members); err != nil {
			t.Fatal(err)
		}
	}
	for _, forged := range []string{`"via":"client"`, `"via":"lock"`, `"via":7`, `"via":null,"Via":"client"`} {
		send(forged)
	}
	if err := d.manage(t, admin.MethodQuestionsAllow, json.RawMessage(fmt.Sprintf(`{"decisionId":%q,"via":"client"}`, id)), nil); err == nil || len(got) > 0 || len(l.open()) != 1 {
		t.Fatalf("a forged author: %v, %d answers, %+v wait", err, len(got), l.open())
	}
	for _, r := range d.records(t) {
		if r.Answer != nil {
			t.Errorf("a forged answer is recorded: %+v", r.Answer)
		}
	}
	if err := d.manage(t, admin.MethodQuestionsDeny, json.RawMessage(fmt.Sprintf(`{"decisionId":%q,"author":{"via":"client","uid":0,"pid":1}}`, id)), nil); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.err != nil || a.Answer != "deny" {
		t.Errorf("the client hears %+v", a)
	}
	d.wantAuthor(t, author.Admin, true)

	// A yes whose sender is gone at once is the sender's, if it counts.
	id = l.question(l.say("permd/decide", `{"sessionId":"s1","calls":[%s]}`, strings.Replace(lateCall, "sh run.sh data", "sh run.sh gone", 1)))
	got = l.waits(id)
	send(`"via":"review"`)
	_ = d.manage(t, admin.MethodQuestionsDeny, admin.Denial{DecisionID: id}, nil) // where it had gone before its request was begun
	switch a := <-got; {
	case a.err != nil:
		t.Error(a.err)
	case a.Answer == "allow":
		d.wantAuthor(t, author.Review, true)
	default:
		d.wantAuthor(t, author.Admin, true)
	}
}
