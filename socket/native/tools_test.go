package native

import (
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// newDeclaringDaemon takes declarations of tools, except those of a tool that is called
// "bad".
func newDeclaringDaemon() *persistentDaemon {
	d := newPersistentDaemon()
	Register(d.methods, Deps{
		Sessions: d.sessions, Decider: d, Persistent: d.lasting,
		Users: func(uid uint32) effects.User { return effects.User{UID: uid} },
		Declarable: func(uid uint32, agent effects.Party, tools []effects.DeclaredTool) error {
			for i := range tools {
				if tools[i].Name == "bad" || uid != 1000 || agent.Name != "helper" {
					return errors.New("no such tool")
				}
			}
			return nil
		},
	})
	return d
}

const (
	allowTool = `{"name":"allow","members":{"file":"read","cmd":"command"}}`
	otherTool = `{"name":"deny","members":{"file":"read"}}`
)

func declaring(session, more, tools string) string {
	return `{"sessionId":"` + session + `","cwd":"/w","agent":{"name":"helper"}` + more + `,"tools":[` + tools + `]}`
}

func TestDeclareTools(t *testing.T) {
	d, c := newDeclaringDaemon(), conn(1)
	if got := d.must(t, c, MethodSession, declaring("s", "", otherTool+","+allowTool)); !strings.Contains(got, `"declare"`) {
		t.Errorf("the answer does not say that tools can be declared: %s", got)
	}
	if got := d.decide(t, c, "s", "allow", `{}`).Call.Declared.String(); got != "allow(cmd: command, file: read)" {
		t.Errorf("declared %q", got)
	}
	if got := d.decide(t, c, "s", "ask", `{}`).Call.Declared; got != nil {
		t.Errorf("a tool that was not declared has %v", got)
	}
	d.must(t, c, MethodDecide, `{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"allow","server":"x"},"input":{}}]}`)
	if got := d.got[len(d.got)-1].Call.Declared; got != nil {
		t.Errorf("the tool of a server has %v", got)
	}

	// The same in another order is no other declaration, also for another session.
	d.must(t, c, MethodSession, declaring("s", `,"mode":"plan"`, allowTool+","+otherTool))
	d.must(t, c, MethodSession, declaring("s2", "", allowTool+","+otherTool))
	const second = "other tools were declared before"
	for name, tools := range map[string]string{
		"fewer": allowTool, "another meaning": strings.Replace(allowTool, `"read"`, `"tree"`, 1) + "," + otherTool,
		"more": allowTool + "," + otherTool + `,{"name":"ask","members":{"a":"read"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			d.refused(t, c, MethodSession, declaring("s", "", tools), socket.CodeParams, second)
			d.refused(t, c, MethodSession, declaring("new", "", tools), socket.CodeParams, second)
		})
	}
	if d.sessions.Get(c.Owner(), "new") != nil {
		t.Error("a session with a declaration that was refused is declared")
	}
	if got := d.decide(t, c, "s", "allow", `{}`).Call.Declared.String(); got != "allow(cmd: command, file: read)" {
		t.Errorf("after refused ones: declared %q", got)
	}

	// Without tools, the session's are unknown again, and the first ones stay fixed.
	d.must(t, c, MethodSession, `{"sessionId":"s","cwd":"/w","agent":{"name":"helper"}}`)
	if got := d.decide(t, c, "s", "allow", `{}`).Call.Declared; got != nil {
		t.Errorf("declared again without tools: %v", got)
	}
	d.must(t, c, MethodClose, `{"sessionId":"s"}`)
	d.refused(t, c, MethodSession, declaring("s", "", allowTool), socket.CodeParams, second)
	// Another connection is free to declare others.
	d.must(t, conn(2), MethodSession, declaring("s", "", allowTool))
}

func TestDeclareToolsRefused(t *testing.T) {
	d := newDeclaringDaemon()
	for name, tt := range map[string]struct{ params, says string }{
		"by the profiles":       {declaring("s", "", `{"name":"bad","members":{"a":"read"}}`), "tools: no such tool"},
		"members are no object": {declaring("s", "", `{"name":"x","members":["a"]}`), "reading params"},
		"a meaning is no text":  {declaring("s", "", `{"name":"x","members":{"a":1}}`), "reading params"},
		"members, misspelt":     {declaring("s", "", `{"name":"x","Members":{"a":"read"}}`), "reading params"},
		"no list":               {`{"sessionId":"s","cwd":"/w","agent":{"name":"helper"},"tools":{"x":{}}}`, "reading params"},
	} {
		t.Run(name, func(t *testing.T) {
			c := conn(1)
			d.refused(t, c, MethodSession, tt.params, socket.CodeParams, tt.says)
			if d.sessions.Get(c.Owner(), "s") != nil {
				t.Error("the session is declared")
			}
			// What was refused is not fixed.
			d.must(t, c, MethodSession, declaring("s", "", allowTool))
			d.must(t, c, MethodClose, `{"sessionId":"s"}`)
		})
	}
	old := newDaemon()
	old.refused(t, conn(1), MethodSession, declaring("s", "", allowTool), socket.CodeParams, "takes no declarations")
}

// TestDeclareToolsPersistent checks that tools stay as they were first declared also for a
// session that outlives its connections, until it ends.
func TestDeclareToolsPersistent(t *testing.T) {
	d := newDeclaringDaemon()
	const harness = `,"harness":"x"`
	d.must(t, conn(1), MethodSession, declaring("s", harness, allowTool))
	c := conn(2)
	d.must(t, c, MethodSession, declaring("s", harness, allowTool))
	if got := d.decide(t, c, "s", "allow", `{}`).Call.Declared; got == nil {
		t.Error("nothing is declared on the second connection")
	}
	d.refused(t, conn(3), MethodSession, declaring("s", harness, otherTool), socket.CodeParams, "other tools were declared before")
	d.must(t, conn(4), MethodSession, declaring("s4", harness, otherTool))
	d.now = d.now.Add(2 * sessionIdle)
	d.must(t, conn(5), MethodSession, declaring("s", harness, otherTool))
}
