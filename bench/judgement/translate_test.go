package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTranslate(t *testing.T) {
	allow := func(kind string, lines ...string) string {
		s := "allow:\n  " + kind + ":\n"
		for _, l := range lines {
			s += "    - " + l + "\n"
		}
		return s
	}
	everything := "everything is allowed"
	for _, c := range []struct {
		naive string
		list  string
		rego  []string // what is in it
	}{
		{"prefix:git status", allow("run", `"git status *"`), nil},
		{"prefix:./x.sh", allow("run", `"./x.sh *"`), nil},
		{"segments:cd,git status", allow("run", `"cd *"`, `"git status *"`), nil},
		{"strip-env;prefix:ls", allow("run", `"ls *"`), nil},
		{"prefix:curl -s https://docs.example.com/", allow("run", `"curl -s *"`) + "  connect:\n    - \"docs.example.com\"\n", nil},
		{`json-regex:"command":"git status`, allow("run", `"git status *"`), nil},
		{"default-allow;deny-prefix:touch", "deny:\n  run:\n    - \"touch *\"\n", []string{everything}},
		{"default-allow;deny-prefix-string:rm -rf ", "deny:\n  run:\n    - \"rm -rf *\"\n", []string{everything}},
		{"host:*.example.com", allow("connect", `"*.example.com"`), nil},
		{"url-contains:https://example.com/", allow("connect", `"example.com"`), nil},
		{"url-prefix-string:https://example.com/a/", "", []string{`input.effect.host == "example.com"`, `input.effect.scheme == "https"`, `startswith(input.effect.url, "https://example.com/a/")`}},
		{"default-allow;host-deny:localhost", "deny:\n  connect:\n    - \"localhost\"\n", []string{everything, `"loopback" in input.effect.tags`}},
		{"default-allow;host-deny:metadata", "", []string{everything, `"metadata_service" in input.effect.tags`}},
		{"tool:mcp__github__get_issue", allow("use", `"github:get_issue"`), nil},
		{"tool-glob:mcp__github*", allow("use", `"github:*"`), nil},
		{"tool:Task", allow("use", `"Task"`), nil},
		{"kind:read", allow("read", `"./**"`), nil},
		{"user:admin", "", []string{`input.user.name == "admin"`}},
		{"path-glob:/srv/*.txt", "allow:\n  read:\n    - \"/srv/*.txt\"\n  write:\n    - \"/srv/*.txt\"\n  delete:\n    - \"/srv/*.txt\"\n", nil},
		{"path-prefix:/", "allow:\n  read:\n    - \"/**\"\n  write:\n    - \"/**\"\n  delete:\n    - \"/**\"\n", nil},
		{"path-protect:.git/**", "deny:\n  write:\n    - \"./.git/**\"\n  delete:\n    - \"./.git/**\"\n", nil},
		{"map-lookup:toString", "", nil},
	} {
		t.Run(c.naive, func(t *testing.T) {
			d, ok := translate(c.naive, nil)
			if !ok {
				t.Fatal("the rule has no translation")
			}
			r := d.finish()
			if diff := cmp.Diff(c.list, r.List); diff != "" {
				t.Errorf("list (-want +got):\n%s", diff)
			}
			if (r.Rego == "") != (c.rego == nil) {
				t.Errorf("the policy is %q", r.Rego)
			}
			for _, want := range c.rego {
				if !strings.Contains(r.Rego, want) {
					t.Errorf("%q is not in\n%s", want, r.Rego)
				}
			}
			if len(d.refused) > 0 {
				t.Errorf("lines were refused: %v", d.refused)
			}
		})
	}
}

func TestTranslateRefuses(t *testing.T) {
	if _, ok := translate("prefix:ls;moon-phase:full", nil); ok {
		t.Error("an unknown rule was translated")
	}
	d, ok := translate(`path-prefix-string:\`, nil)
	if !ok || len(d.refused) == 0 || d.finish().List != "" {
		t.Errorf("a line that permd refuses became %+v", d)
	}
}

func TestTranslatePeer(t *testing.T) {
	for _, c := range []struct {
		name, rules string
		ok          bool
		list        string
	}{
		{"words", `{"allow":[{"kind":"prefix","value":"git log"}],"deny":[{"kind":"command-name","value":"rm"}],"default":"ask"}`, true,
			"allow:\n  run:\n    - \"git log *\"\ndeny:\n  run:\n    - \"rm *\"\n"},
		{"glob", `{"allow":[{"kind":"glob","value":"cat *"},{"kind":"glob","value":"pwd"}]}`, true, "allow:\n  run:\n    - \"cat *\"\n    - \"pwd\"\n"},
		{"glob inside", `{"allow":[{"kind":"glob","value":"c*t x"}]}`, false, ""},
		{"beginning", `{"ask":[{"kind":"regex","pattern":"/^rm\\s+/"}],"allow":[{"kind":"regex","value":"^cargo test\\b"}]}`, true,
			"allow:\n  run:\n    - \"cargo test *\"\nask:\n  run:\n    - \"rm *\"\n"},
		{"expression", `{"allow":[{"kind":"regex","pattern":"/deploy/"}]}`, false, ""},
		{"alternatives", `{"allow":[{"kind":"argv-prefix","value":["npm",["i","install"]]}]}`, true, "allow:\n  run:\n    - \"npm i *\"\n    - \"npm install *\"\n"},
		{"first wins, strict before mild", `{"ordered_first_match_wins":[{"commands":["rm"],"decision":"deny"},{"commands":["ls"],"decision":"allow"}]}`, true,
			"allow:\n  run:\n    - \"ls *\"\ndeny:\n  run:\n    - \"rm *\"\n"},
		{"first wins, mild before strict", `{"ordered_first_match_wins":[{"commands":["ls"],"decision":"allow"},{"commands":["rm"],"decision":"deny"}]}`, false, ""},
		{"last wins", `{"ordered_last_match_wins":[{"permission":"*","pattern":"*","decision":"ask"},{"permission":"bash","pattern":"rm *","decision":"deny"}]}`, true,
			"deny:\n  run:\n    - \"rm *\"\n"},
		{"priority", `{"ordered_by_priority":[{"tool":"run_shell_command","decision":"ask","priority":1},{"tool":"run_shell_command","command_prefix":"rm","decision":"deny","priority":2}]}`, true,
			"deny:\n  run:\n    - \"rm *\"\n"},
		{"mode", `{"mode":"yolo","allow":[]}`, false, ""},
		{"server", `{"ordered_by_priority":[{"tool":"mcp_box_open","mcp_server":"box","decision":"allow"}]}`, true, "allow:\n  use:\n    - \"box:open\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, ok := translatePeer(&peerRow{Rules: []byte(c.rules)})
			if ok != c.ok {
				t.Fatalf("translated: %v, want %v", ok, c.ok)
			}
			if !ok {
				return
			}
			if diff := cmp.Diff(c.list, d.finish().List); diff != "" {
				t.Errorf("list (-want +got):\n%s", diff)
			}
		})
	}
}
