package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/socket/hook/hooktest"
)

// pretendWait pretends to be a daemon that asks about the call of a hook, and answers its wait.
func (d *testDaemon) pretendWait(t *testing.T, serve func(c net.Conn, id string) bool) {
	t.Helper()
	d.pretend(t, func(c net.Conn, line string) bool {
		id := pretendID(line)
		switch {
		case strings.Contains(line, "permd/wait"):
			return serve(c, id)
		case !strings.Contains(line, "permd/decide"):
			return pretendDeclared(c, line)
		}
		_, rest, _ := strings.Cut(line, `"callId":"`)
		call, _, _ := strings.Cut(rest, `"`)
		_, err := c.Write([]byte(strings.NewReplacer("ID", id, "CALL", call).Replace(pretendDecision("ask"))))
		return err == nil
	})
}

// wantWaited runs the waiting hook of every harness at once. None may let its call run, unless a person has
// allowed it.
func (d *testDaemon) wantWaited(t *testing.T, allowed bool) {
	t.Helper()
	d.installsWaits(t, "5m")
	var hooks []*waitingHook
	shell, wait := unattendedShell(t), "2s"
	if allowed {
		wait = "20s" // on a busy machine two seconds may be over before it waits
	}
	for _, s := range shell {
		hooks = append(hooks, d.startHook(t, s.harness, hookInput(s.in, filepath.Join(d.home, "project"), "make"), wait))
	}
	for i, s := range shell {
		none, undecided := unattended[s.name].none, undecidedHooks[s.name]
		if undecided == "" {
			undecided = hooktest.Stops
		}
		out := hooks[i].ends()
		got, err := hooktest.Interpret(s.harness, s.event, out.Stdout, out.Stderr, out.Code)
		switch yes := unattended[s.name].yes; {
		case err != nil:
			t.Errorf("%s: %v", s.name, err)
		case allowed && got != yes:
			t.Errorf("%s: it %s, want %s", s.name, got, yes)
		case !allowed && got != none && got != undecided:
			t.Errorf("%s: it %s, want %s: %s", s.name, got, none, out.Stdout)
		}
		// The harness waits for 5 seconds more.
		if took := time.Since(hooks[i].begun); took > 30*time.Second {
			t.Errorf("%s: it took %v", s.name, took)
		}
	}
}

// hooksWaitSilent: the daemon hangs while a hook waits for a person, which ends by itself.
func hooksWaitSilent(t *testing.T) {
	d := newTestDaemon(t)
	d.pretendWait(t, func(net.Conn, string) bool { return true })
	d.wantWaited(t, false)
}

// hooksWaitNonsense: only an answer to this very question counts.
func hooksWaitNonsense(t *testing.T) {
	const allow = `{"jsonrpc":"2.0","id":ID,"result":{"answer":"allow","stored":[]}}`
	swap := func(old, with string) string { return strings.Replace(allow, old, with, 1) }
	for name, answer := range map[string]string{
		"no JSON":               "allow",
		"no answer":             swap(`"answer":"allow",`, ""),
		"in other letters":      swap(`"allow"`, `"ALLOW"`),
		"another kind":          swap(`"allow"`, `true`),
		"doubled":               swap(`"answer"`, `"answer":"deny","answer"`),
		"none":                  swap(`"allow"`, `"none"`),
		"a result and an error": swap(`"result"`, `"error":{"code":1,"message":"x"},"result"`),
		"an error":              `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"broken"}}`,
		"asked anew for ever":   `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"ask again"}}`,
		"too many wait":         `{"jsonrpc":"2.0","id":ID,"error":{"code":-32051,"message":"too many"}}`,
		"another request":       swap("ID", "7"),
		"a decision that denies": swap(`"stored"`, `"decidedBy":"policy","decision":{"decisionId":"e","callId":"1","verdict":"deny","needed":"none","reason":"r",`+
			`"decidedBy":"policy","policy":{"digest":"x"},"effects":[]},"stored"`),
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			d.pretendWait(t, func(c net.Conn, id string) bool {
				_, err := c.Write([]byte(strings.Replace(answer, "ID", id, 1) + "\n"))
				return err == nil
			})
			d.wantWaited(t, false)
		})
	}
	t.Run("breaks off", func(t *testing.T) {
		d := newTestDaemon(t)
		d.pretendWait(t, func(net.Conn, string) bool { return false })
		d.wantWaited(t, false)
	})
	t.Run("control", func(t *testing.T) {
		d := newTestDaemon(t)
		d.pretendWait(t, func(c net.Conn, id string) bool {
			_, err := c.Write([]byte(strings.Replace(allow, "ID", id, 1) + "\n"))
			return err == nil
		})
		d.wantWaited(t, true)
	})
}
