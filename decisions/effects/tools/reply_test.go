package tools

import (
	"net/netip"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
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
	for _, address := range []string{"https://agents.example.org", "http://agents.example.org:8080", "http://10.0.0.7", "http://[fd12::7]", "http://build.internal",
		"http://printer.lan", "http://8.8.8.8", "http://[2606:4700::1111]", "http://agents.example.co.uk", "http://someone.github.io"} {
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
		// What is not certain.
		"http://localhost4", "http://localhost4.localdomain4", "http://a.localdomain", "http://x.localdomain6", "http://ip6-loopback",
		"http://host.docker.internal", "http://gateway.docker.internal", "http://kubernetes.docker.internal", "http://host.containers.internal", "http://host.lima.internal",
		"http://[::ffff:0:127.0.0.1]", "http://[::ffff:0:a00:1]", "http://[2001::5601:5601]", "http://[2001:db8::5efe:a9fe:a9fe]", "http://[fd00::200:5efe:7f00:1]",
		"http://metadata.platformequinix.com", "http://rancher-metadata", "http://rancher-metadata.rancher.internal", "http://api.metadata.cloud.ibm.com",
		"http://agents", "http://agents.example", "http://agents.test", "http://agents.onion", "http://7.1.168.192.in-addr.arpa", "http://com", "http://github.io", "http://agents.unheardof",
		"http://192.0.2.2", "http://198.51.100.1", "http://203.0.113.9", "http://198.18.0.1", "http://100.64.0.1", "http://192.88.99.1", "http://240.0.0.1", "http://224.0.0.1", "http://255.255.255.255",
		"http://[2001:db8::7]", "http://[2001:20::1]", "http://[3fff::1]", "http://[4000::1]", "http://[fec0::1]", "http://[ff02::1]", "http://[100::1]", "http://[5f00::1]",
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

// TestReplyToThisMachine: the addresses and names of the machine need an allow of their own,
// in any spelling, and where its addresses are not known each address does.
func TestReplyToThisMachine(t *testing.T) {
	m := &paths.Machine{
		Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("8.8.4.4"), netip.MustParseAddr("fd00::2")}, Name: "vm.example.org",
		Hosts: map[string][]netip.Addr{
			"mine.example.org":  {netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("127.0.1.1")},
			"own.example.org":   {netip.MustParseAddr("10.0.0.7")},
			"cloud.example.org": {netip.MustParseAddr("::ffff:169.254.169.254")},
			"other.example.org": {netip.MustParseAddr("10.0.0.8")},
		},
	}
	w := toolWorld(t)
	w.Machine = func() *paths.Machine { return m }
	claimed := func(host string) bool {
		r := w.Effects(&effects.Call{
			Protocol: "rap", Tool: effects.Tool{Name: "list", Server: "warehouse"}, Input: []byte(`{}`), InputFrom: "arguments", ReplyTo: "http://" + host,
		})
		e := r.Effects[len(r.Effects)-1]
		if e.Connect == nil || e.Claimed == (e.Via != nil) {
			t.Fatalf("%s: %+v", host, e)
		}
		return e.Claimed
	}
	for _, host := range []string{
		"10.0.0.7", "10.7", "0xa000007", "167772167", "[::ffff:10.0.0.7]", "8.8.4.4", "[fd00::2]", "[fd00:0:0::0002]", "vm", "vm.example.org", "VM.example.org.", "vm.local", "vm.lan",
		"mine.example.org", "MINE.example.org.", "own.example.org", "cloud.example.org",
	} {
		if !claimed(host) {
			t.Errorf("%s needs no allow of its own", host)
		}
	}
	for _, host := range []string{"10.0.0.8", "8.8.8.8", "[fd00::3]", "agents.example.org", "other.example.org", "a.vm.example.org"} {
		if claimed(host) {
			t.Errorf("%s needs an allow of its own", host)
		}
	}
	m.Unknown = true
	if !claimed("8.8.8.8") || !claimed("10.0.0.8") || claimed("agents.example.org") {
		t.Error("addresses that are not known to be another machine's")
	}
	m.Unknown, m.UnknownNames = false, true
	if claimed("8.8.8.8") || claimed("10.0.0.8") || !claimed("agents.example.org") || !claimed("build.lan") {
		t.Error("names that are not known to be another machine's")
	}
}
