package acp

import (
	"testing"

	"github.com/permd/permd/socket/native"
)

// TestGatePaths: a path that could mean another file asks, whichever file it seems
// to be, and what a rule denies stays denied however the path is written.
func TestGatePaths(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, path, write, read string }{
		{"a file of the project", "/home/ana/src/shop/a", "ask passed", "ask passed"},
		{"one elsewhere", "/srv/a", "ask passed", "ask passed"},
		{"a fence", "/home/ana/.config/permd/permd.toml", "deny", "asks"},
		{"a fence below /proc", "/proc/self/root/home/ana/.config/permd/permd.toml", "asks", "asks"},
		{"an open file", "/dev/fd/3", "asks", "asks"},
		{"up from a folder that is not there", "/home/ana/none/../.config/permd/permd.toml", "asks", "asks"},
		{"a blank in front", " /home/ana/.config/permd/permd.toml", "asks", "asks"},
		{"a hidden character", "/home/ana/.config/permd/permd.toml\x00", "asks", "asks"},
		{"below whatever folder the client takes", ".config/a", "asks", "asks"},
		{"a fence from the project", "../../.config/permd/permd.toml", "deny", "asks"},
		{"a fence from the home", "~/.config/permd/permd.toml", "deny", "asks"},
		{"nothing", "", "asks", "asks"},
	}
	for _, c := range cases {
		for method, want := range map[string]string{"fs/write_text_file": c.write, "fs/read_text_file": c.read} {
			t.Run(c.name+", "+method, func(t *testing.T) {
				g := newGates(t, nil)
				con := conn(1)
				g.declare(t, con, "s", "gemini-cli")
				got, d := g.through(t, con, `{"sessionId":"s","method":"`+method+`","params":{"path":`+quote(c.path)+`}}`)
				if got != want {
					t.Errorf("%s, want %s: %+v", got, want, d)
				}
			})
		}
	}
}

// TestGateDefects: a terminal request with a skipped part asks; one that is only
// not understood is left to the agent's own request.
func TestGateDefects(t *testing.T) {
	cases := []struct{ name, params, want string }{
		{"not understood", `{"command":"make $(x)"}`, "ask passed"},
		{"a hidden character", `{"command":"make a\u202eb"}`, "asks"},
		{"a part of the environment", `{"command":"make","env":[{"name":"","value":"x"}]}`, "asks"},
		{"no folder", `{"command":"make","cwd":null}`, "ask passed"},
		{"a folder", `{"command":"make","cwd":"/srv"}`, "ask passed"},
		{"a folder that is relative", `{"command":"make","cwd":"srv"}`, "asks"},
		{"an empty folder", `{"command":"make","cwd":""}`, "asks"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGates(t, nil)
			con := conn(1)
			g.declare(t, con, "s", "gemini-cli")
			if got, d := g.through(t, con, `{"sessionId":"s","method":"terminal/create","params":`+c.params+`}`); got != c.want {
				t.Errorf("%s, want %s: %+v", got, c.want, d)
			}
		})
	}
}

// TestGateUnknownSession: of a session that was not declared, or has ended, neither project nor
// mode is known, so the person is asked; not about an act of their own.
func TestGateUnknownSession(t *testing.T) {
	for method, params := range map[string]string{
		"terminal/create": `{"command":"make"}`, "fs/read_text_file": `{"path":"/home/ana/src/shop/a"}`, "fs/write_text_file": `{"path":"/home/ana/src/shop/a"}`,
		"session/set_mode": `{"modeId":"plan"}`,
	} {
		g := newGates(t, nil)
		con := conn(1)
		g.declare(t, con, "s", "gemini-cli")
		g.declare(t, con, "gone", "gemini-cli")
		g.must(t, con, native.MethodClose, `{"sessionId":"gone"}`)
		for session, want := range map[string]string{"s": "ask passed", "nope": "asks", "gone": "asks"} {
			if method == "session/set_mode" {
				want = "ask passed"
			}
			got, d := g.through(t, con, `{"sessionId":"`+session+`","method":"`+method+`","params":`+params+`}`)
			if got != want {
				t.Errorf("%s of %s: %s, want %s: %+v", method, session, got, want, d)
			}
		}
	}
}
