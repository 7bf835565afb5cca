package tools

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestReplyTo: where a result is sent is an effect. An allow of the use includes it,
// unless it is this machine, a link-local address or one of the services that hand out
// credentials, in any spelling.
func TestReplyTo(t *testing.T) {
	w := toolWorld(t)
	effect := func(address string) effects.Effect {
		r := w.Effects(&effects.Call{
			Protocol: "rap", Tool: effects.Tool{Name: "list", Server: "warehouse"}, Input: []byte(`{}`), InputFrom: "arguments", ReplyTo: address,
		})
		if len(r.Effects) != 2 || r.Effects[0].Kind != effects.KindUse {
			t.Fatalf("%s: %+v", address, r.Effects)
		}
		return r.Effects[1]
	}
	for _, address := range []string{"https://agents.example.org", "http://agents.example.org:8080", "http://10.0.0.7", "http://[fd12::7]", "http://build.internal"} {
		if e := effect(address); e.Connect == nil || e.Connect.Method != effects.MethodSend || !e.Inherent() || e.Claimed || e.From != "callback_url" {
			t.Errorf("%s: %+v", address, e)
		}
	}
	for _, address := range []string{
		"http://localhost", "http://LOCALHOST.", "http://a.localhost", "http://127.0.0.1:7410", "http://127.1", "http://0x7f000001", "http://2130706433", "http://017700000001",
		"http://0", "http://0.0.0.0", "http://[::1]", "http://[::]", "http://[::ffff:127.0.0.1]", "http://[::ffff:7f00:1]", "http://[::7f00:1]", "http://[64:ff9b::7f00:1]",
		"http://[2002:7f00:1::]", "http://169.254.7.7", "http://0xa9fe0707", "http://[fe80::1]", "http://[::ffff:169.254.7.7]", "http://[64:ff9b::a9fe:707]",
		"http://169.254.169.254", "http://2852039166", "http://[fd00:ec2::254]", "http://metadata.google.internal", "http://metadata", "http://168.63.129.16",
		"http://[::ffff:a9fe:a9fe]",
	} {
		if e := effect(address); e.Connect == nil || e.Via != nil || !e.Claimed {
			t.Errorf("%s: %+v", address, e)
		}
	}
	for _, address := range []string{"http://127.0.0.1.nip.io", "http://localtest.me", "http://127%2e0.0.1", "http://1.2.3.4.5", "http://a..b"} {
		if e := effect(address); e.Kind != effects.KindUnknown {
			t.Errorf("%s: %+v", address, e)
		}
	}
}

// TestServersUnknown: where a protocol names tools exactly, one whose server is not named is
// claimed, and no part of its name is taken for a server.
func TestServersUnknown(t *testing.T) {
	w := toolWorld(t)
	for _, name := range []string{"list", "Bash", "mcp__warehouse__list", "mcp.warehouse.list", "warehouse:list"} {
		r := w.Effects(&effects.Call{Protocol: "rap", Agent: effects.Party{Name: "claude-code"}, Tool: effects.Tool{Name: name}, Input: []byte(`{}`), InputFrom: "arguments"})
		if len(r.Effects) != 1 {
			t.Fatalf("%s: %+v", name, r.Effects)
		}
		if e := r.Effects[0]; e.Use == nil || e.Use.Server != "" || e.Use.Source != "" || e.Use.Tool != name || !e.Claimed {
			t.Errorf("%s: %+v, %+v", name, e, e.Use)
		}
	}
}
