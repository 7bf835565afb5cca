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
	args := append([]string{"build", "-ldflags=-s -w", "-o", to}, flags...)
	out, err := exec.CommandContext(ctx, "go", append(args, "github.com/permd/permd/cmd/permd")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("building permd: %w\n%s", err, out)
	}
	return nil
}

// configuration is that of a daemon.
type configuration struct {
	durability   string // "" for the default
	connections  int    // of its clients
	messageBytes int    // the longest message, 0 for the default
}

func (c configuration) text() string {
	text := ""
	if c.durability != "" {
		text = fmt.Sprintf("durability = %q\n", c.durability)
	}
	text += fmt.Sprintf("[limits]\nconnections = %[1]d\nconnections_per_user = %[1]d\n", c.connections+spareConnections)
	if c.messageBytes > 0 {
		text += fmt.Sprintf("message_bytes = %d\n", c.messageBytes)
	}
	// What a slow machine does not decide in time would be asked.
	return text + "decision_milliseconds = 60000\n"
}

// startPermd starts a daemon with a home of its own for its settings, rules and
// databases. The project is that of the world.
func (w *world) startPermd(ctx context.Context, name, program string, set configuration, env ...string) (*server, error) {
	own := filepath.Join(w.dir, name)
	run := filepath.Join(own, "run")
	for path, text := range map[string]string{
		"config/permd/permd.toml":         set.text(),
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
