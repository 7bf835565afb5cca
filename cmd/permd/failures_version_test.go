package main

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
)

// pretendVersion is a daemon that allows everything, and has this answer to
// permd/session.
func (d *testDaemon) pretendVersion(t *testing.T, hello string) {
	t.Helper()
	d.pretend(t, func(c net.Conn, line string) bool {
		id := pretendID(line)
		var answer string
		switch {
		case strings.Contains(line, `"permd/session"`):
			answer = `{"jsonrpc":"2.0","id":` + id + `,"result":` + hello + "}\n"
		case strings.Contains(line, `"permd/decide"`):
			_, rest, _ := strings.Cut(line, `"callId":"`)
			call, _, _ := strings.Cut(rest, `"`)
			answer = strings.NewReplacer("ID", id, "CALL", call).Replace(pretendDecision("allow"))
		case strings.Contains(line, `"session/request_permission"`):
			answer = `{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"yes"},"_meta":{"permd":{"decisionId":"d","callId":"1","verdict":"allow","needed":"none","reason":"r","decidedBy":"policy","policy":{"digest":"x"},"effects":[]}}}}` + "\n"
		case strings.HasPrefix(id, "{"), id == "": // a notification
			return true
		default:
			answer = `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n"
		}
		_, err := c.Write([]byte(answer))
		return err == nil
	})
}

// Answers of permd/session that name another version.
var otherVersions = map[string]string{
	"newer": `{"protocol":2,"version":"v9.0.0","features":["decide","harness","acp-1"]}`,
	"older": `{"protocol":0,"version":"v0.0.1"}`,
	"text":  `{"protocol":"1"}`,
}

// hooksOtherVersion: the answer of a daemon with another protocol version is no
// decision.
func hooksOtherVersion(t *testing.T) {
	for name, hello := range otherVersions {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			d.pretendVersion(t, hello)
			why := "of its protocol"
			if name == "text" {
				why = "permd: cannot decide"
			}
			wantUndecided(t, d, why)
		})
	}
	t.Run("control", func(t *testing.T) {
		d := newTestDaemon(t)
		d.pretendVersion(t, `{"protocol":1,"features":["of","tomorrow"]}`)
		wantHooksAllowed(t, d)
	})
}

// proxyOtherVersion: the person is asked, and the reason is printed.
func proxyOtherVersion(t *testing.T) {
	for name, hello := range otherVersions {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			d.pretendVersion(t, hello)
			m := d.mirror(t, d.project(t, nil), "claude-agent-acp", 1)
			m.shows(mirrorAsks(1, probe))
			m.waitSays("permissions are yours to answer")
			if said := m.stderr.String(); name != "text" && strings.Count(said, "of its protocol") != 1 {
				t.Errorf("it said %s", said)
			}
			m.picks(1, "yes")
			m.shows(mirrorAsks(2, probe)) // and again
			m.picks(2, "yes")
		})
	}
	t.Run("control", func(t *testing.T) {
		d := newTestDaemon(t)
		d.pretendVersion(t, `{"protocol":1}`)
		m := d.mirror(t, d.project(t, nil), "claude-agent-acp", 1)
		m.say(mirrorAsks(1, probe))
		if got := m.told(); got != "yes" {
			t.Errorf("the agent got %q", got)
		}
	})
}

// decideOtherVersion: an error with what to do, and no decision, also where the
// input declares the session itself.
func decideOtherVersion(t *testing.T) {
	d := newTestDaemon(t)
	d.pretendVersion(t, otherVersions["newer"])
	call := `{"tool":{"name":"Bash"},"input":{"command":"git status"}}`
	session := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"permd/session","params":{"sessionId":"permd-decide","cwd":%q}}`, d.home)
	for _, in := range []string{call, session + "\n" + call} {
		cmd := d.command("decide", "-")
		cmd.Stdin = strings.NewReader(in)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if err == nil || out.Len() > 0 || !strings.Contains(errs.String(), "speaks version 2 of its protocol") || !strings.Contains(errs.String(), "hint: update this program") {
			t.Errorf("%v, %s%s", err, &out, &errs)
		}
	}
}
