package docs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/aap"
	"github.com/permd/permd/socket/acp"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/otc"
	"github.com/permd/permd/socket/sockettest"
)

// serveWorld serves the methods of the decision socket with the shipped rules.
func serveWorld(t *testing.T) string {
	t.Helper()
	w := newWorld(t, rules{})
	n := 0
	var err error
	w.engine, err = w.engine.With(func(c *decisions.Config) { c.NewID = func() string { n++; return fmt.Sprint("d", n) } })
	if err != nil {
		t.Fatal(err)
	}
	users := func(uint32) effects.User {
		return effects.User{UID: 1000, Name: "ana", Home: home, Env: map[string]string{"HOME": home}}
	}
	profiles, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		t.Fatal(err)
	}
	methods, sessions := socket.Methods{}, new(decisions.Sessions)
	batches := 0
	deps := native.Deps{
		Sessions: sessions, Decider: w.engine, Users: users, LiveShell: profiles.LiveShell, PlainOption: profiles.OnceOption,
		NewID: func() string { batches++; return fmt.Sprint("b", batches) },
	}
	acp.Register(methods, deps)
	native.Register(methods, deps)
	otc.Register(methods, deps)
	aap.Register(methods, deps)
	return sockettest.Serve(t, methods)
}

// TestTranscripts replays the conversations, which are one connection, with a permd that
// has the shipped rules, and compares every line.
func TestTranscripts(t *testing.T) {
	c, err := net.Dial("unix", serveWorld(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	schema := readSchema(t)
	answers := bufio.NewReader(c)
	said, heard := 0, 0
	for _, b := range read(t, "protocol.md").blocks {
		if b.info != "transcript" {
			continue
		}
		for i, line := range strings.Split(strings.TrimSpace(b.text), "\n") {
			at := fmt.Sprintf("protocol.md:%d", b.first+i+1)
			if message, ok := strings.CutPrefix(line, "→ "); ok {
				said++
				if err := schema.Check("request", message); err != nil {
					t.Errorf("%s: %v", at, err)
				}
				if _, err := fmt.Fprintln(c, message); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, ok := strings.CutPrefix(line, "← ")
			if !ok {
				t.Fatalf("%s: neither from the client nor from permd", at)
			}
			heard++
			got, err := answers.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if err := schema.Check("response", got); err != nil {
				t.Errorf("%s: %v", at, err)
			}
			if !fits(strings.TrimSpace(got), want) {
				t.Errorf("%s: permd says\n%s", at, got)
			}
		}
	}
	if said < 14 || heard < 12 {
		t.Errorf("only %d messages and %d answers", said, heard)
	}
}

// fits reports whether got matches want, in which … stands for any text.
func fits(got, want string) bool {
	parts := strings.Split(want, "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
}

// TestErrorTable compares the table of codes with the constants.
func TestErrorTable(t *testing.T) {
	want := []int{
		socket.CodeParse, socket.CodeRequest, socket.CodeMethod, socket.CodeParams, socket.CodeInternal,
		socket.CodeCancelled, socket.CodeAsk, socket.CodeBusy,
	}
	var got []int
	for _, tab := range read(t, "protocol.md").find("code", "meaning") {
		for _, row := range tab.rows {
			var n int
			if err := json.Unmarshal([]byte(spans(row[0])[0]), &n); err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table has %v, the socket %v", got, want)
	}
}

// TestAgentTable compares the table of agents with the profiles, and the shell that each
// has.
func TestAgentTable(t *testing.T) {
	profiles, err := tools.ParseProfiles(rego.Profiles())
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, tab := range read(t, "protocol.md").find("profile", "what it sends", "shell", "what permd does about it") {
		for _, row := range tab.rows {
			shells := strings.Split(row[2], ", ")
			for i, id := range spans(row[0]) {
				listed = append(listed, id)
				if live := profiles.LiveShell(effects.Party{Name: id}); live != (shells[min(i, len(shells)-1)] == "live") {
					t.Errorf("%s: the shell is live: %v", id, live)
				}
			}
		}
	}
	slices.Sort(listed)
	ids := regexp.MustCompile(`(?m)^  - id: (\S+)$`).FindAllStringSubmatch(string(rego.Profiles()), -1)
	var want []string
	for _, m := range ids {
		want = append(want, m[1])
	}
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("the table has %v, the profiles are %v", listed, want)
	}
}
