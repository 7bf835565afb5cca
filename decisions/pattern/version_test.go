package pattern

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestVersions: a deny of a version holds for all its forms and for what cannot be read as a
// version, also where the names of the server and the tool are joined. An allow is exact.
func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		line    string
		touches []string
		passes  []string
	}{
		{"Sms:Send@2", []string{"2", "2.0", "2.0.0", "v2", "V2.0.0", "2.0.0+b", "02", " 2", "=2", "2.", "2.00", "٢", "２", "latest", "2.0.0.0", "2-"},
			[]string{"", "1", "2.1", "2.0.1", "20", "2.0.0-rc"}},
		{"Sms:Send@1.2.0", []string{"1.2", "v1.2.0", "1.2.0+x", "1.02.0", "1.2.0.0"}, []string{"1", "1.20", "1.2.0-rc1"}},
		{"Sms:Send@v1.2", []string{"1.2.0", "v1.2", "1.2"}, []string{"1.3"}},
		{"Sms:Send@3.*", []string{"3", "3.0", "3.1.2", "v3.1", "3.", "3-rc", "3.0.0-A", "٣.1"}, []string{"", "2", "30"}},
		{"Sms:Send@1.0.0-RC", []string{"1-rc", "v1.0.0-rc", "1.0-RC+b"}, []string{"1", "1.0.0-rc2"}},
		{"Sms:Send@*.1", []string{"2.1", "2.0.1"}, []string{"2.2"}},
	} {
		p, err := Parse(effects.KindUse, tt.line)
		if err != nil {
			t.Fatal(err)
		}
		check := func(version string, want bool) {
			for _, use := range []effects.Use{{Server: "Sms", Tool: "Send"}, {Server: "sms", Tool: "SEND"}, {Tool: "Sms_Send"}, {Tool: "mcp_sms_send"}, {Server: effects.UnknownServer, Tool: "sms.send"}} {
				use.Version = version
				if got := p.Touches(&effects.Effect{Kind: effects.KindUse, Use: &use}, Context{}); got != want {
					t.Errorf("%s touches %+v: %v", tt.line, use, got)
				}
			}
		}
		for _, v := range tt.touches {
			check(v, true)
		}
		for _, v := range tt.passes {
			check(v, false)
		}
	}
	p, err := Parse(effects.KindUse, "Sms:Send@2")
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]bool{"2.0.0": true, "2": false, "v2.0.0": false, "x": false} {
		use := effects.Use{Server: "Sms", Tool: "Send", Version: version}
		if got := p.Match(&effects.Effect{Kind: effects.KindUse, Use: &use}, nil, Context{}); got != want {
			t.Errorf("Sms:Send@2 allows %s: %v", version, got)
		}
	}
}
