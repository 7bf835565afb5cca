package programs_test

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
)

func TestImageRegistry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		sub, operand, host string
		sends              bool
	}{
		{"pull", "alpine", "", false},
		{"pull", "alpine:3.20", "", false},
		{"pull", "library/alpine:3.20", "", false},
		{"pull", "evil.example/x", "evil.example", false},
		{"pull", "evil.example:5000/a/b@sha256:0", "evil.example:5000", false},
		{"pull", "localhost/x", "localhost", false},
		{"pull", "Registry/x", "Registry", false},
		{"pull", "registry:5000/x", "registry:5000", false},
		{"pull", "docker://evil.example/x", "evil.example", false},
		{"run", "evil.example/x", "evil.example", false},
		{"push", "evil.example/x", "evil.example", true},
		{"push", "owner/x", "", true},
		{"login", "evil.example", "evil.example", true},
		{"login", "https://evil.example/v2/", "evil.example", true},
		{"logout", "registry", "registry", true},
	}
	for _, tt := range tests {
		host, method := programs.ImageRegistry([]string{"image", tt.sub}, tt.operand)
		if host != tt.host || (method == effects.MethodSend) != tt.sends {
			t.Errorf("docker %s %s: %q, %s; want %q, sent %v", tt.sub, tt.operand, host, method, tt.host, tt.sends)
		}
	}
}
