package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/permd/permd/socket/native"
)

// spareConnections are connections besides those of the clients.
const spareConnections = 64

// buildPermd builds the program from this source.
func buildPermd(ctx context.Context, to string, flags ...string) error {
	args := append([]string{"build", "-o", to}, flags...)
	out, err := exec.CommandContext(ctx, "go", append(args, "github.com/permd/permd/cmd/permd")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("building permd: %w\n%s", err, out)
	}
	return nil
}

// startPermd starts a daemon with a home of its own for its settings, rules and
// databases. The project is that of the world.
func (w *world) startPermd(ctx context.Context, name, program, settings string, clients int, env ...string) (*server, error) {
	own := filepath.Join(w.dir, name)
	run := filepath.Join(own, "run")
	settings += fmt.Sprintf("\n[limits]\nconnections = %[1]d\nconnections_per_user = %[1]d\n", clients+spareConnections)
	for path, text := range map[string]string{
		"config/permd/permd.toml":         settings,
		"config/permd/policy.d/user.rego": mcpRule,
	} {
		if err := write(filepath.Join(own, path), text); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(run, 0o700); err != nil {
		return nil, err
	}
	s := &server{
		name: name, socket: filepath.Join(run, "permd", "permd.sock"),
		session: string(withID(line(native.MethodSession, declaration(w.project)))),
	}
	s.cmd = exec.CommandContext(ctx, program, "serve")
	s.cmd.Env = append([]string{
		"HOME=" + w.home, "XDG_RUNTIME_DIR=" + run, "XDG_CONFIG_HOME=" + filepath.Join(own, "config"),
		"XDG_DATA_HOME=" + filepath.Join(own, "data"), "XDG_STATE_HOME=" + filepath.Join(own, "state"),
		"PATH=" + os.Getenv("PATH"), "GOGC=" + os.Getenv("GOGC"), "GOMEMLIMIT=" + os.Getenv("GOMEMLIMIT"), "GODEBUG=" + os.Getenv("GODEBUG"),
	}, env...)
	return s, w.start(s)
}

// withID returns a text with an id in place of the marker.
func withID(text string) []byte {
	t := newTemplate(text)
	return t.append(nil, firstNumber, firstNumber)
}
