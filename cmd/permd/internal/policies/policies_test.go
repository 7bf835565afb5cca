package policies

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/xdg"
)

func TestCommands(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", "")
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	root := filepath.Join(home, "root")
	tests := []struct {
		name    string
		command func(c *Commands) *cobra.Command
		args    []string
		says    string
	}{
		{"check", (*Commands).Check, []string{"../../../../examples/policies/user"}, "ok: "},
		{"test", (*Commands).Test, []string{"../../../../examples/policies/user"}, " passed, 0 failed"},
		{"list", (*Commands).List, []string{}, "base"},
		{"list of a folder", (*Commands).List, []string{"../../../../examples/policies/user"}, "user"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			c := &Commands{
				Streams: &cli.Streams{Out: &out, Err: &out},
				Dirs:    func() (xdg.Dirs, error) { return account.Dirs(root) },
				Root:    func() string { return root },
			}
			cmd := tt.command(c)
			cmd.SetArgs(tt.args)
			if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), tt.says) {
				t.Errorf("error %v, output without %q:\n%s", err, tt.says, out.String())
			}
		})
	}
}
