package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/strictjson"
)

// answers is a daemon that answers all calls but permd/session with one result.
type answers string

func (a answers) Call(_ context.Context, method string, _, result any) error {
	if method == "permd/session" {
		return nil
	}
	return strictjson.Unmarshal(strictjson.Value(a), result)
}

func (a answers) Notify(context.Context, string, any) error { return nil }

// TestDecideExitCode: whatever comes back, only an allow for each call exits
// like one.
func TestDecideExitCode(t *testing.T) {
	const (
		two   = `{"calls":[{"callId":"a","tool":{"name":"x"},"input":{}},{"callId":"b","tool":{"name":"x"},"input":{}}]}`
		bare  = `{"tool":{"name":"x"},"input":{}}`
		acp   = `{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[]}`
		allow = `{"decisionId":"d","callId":"a","verdict":"allow","decidedBy":"policy"}`
	)
	tests := []struct {
		name, input, answer string
		code                int
	}{
		{"allow", bare, `{"decisions":[` + allow + `]}`, cli.ExitOK},
		{"two allows", two, `{"decisions":[` + allow + `,` + allow + `]}`, cli.ExitOK},
		{"one allow for two calls", two, `{"decisions":[` + allow + `]}`, cli.ExitError},
		{"two for one", bare, `{"decisions":[` + allow + `,` + allow + `]}`, cli.ExitError},
		{"none", bare, `{"decisions":[]}`, cli.ExitError},
		{"no member", bare, `{}`, cli.ExitError},
		{"null", bare, `null`, cli.ExitError},
		{"null in the list", bare, `{"decisions":[null]}`, cli.ExitError},
		{"no verdict", bare, `{"decisions":[{"decisionId":"d"}]}`, cli.ExitError},
		{"another verdict", bare, `{"decisions":[{"decisionId":"d","verdict":"Allow"}]}`, cli.ExitError},
		{"request without a decision", acp, `{"outcome":{"outcome":"selected","optionId":"a"}}`, cli.ExitError},
		{"request with no verdict", acp, `{"_meta":{"permd":{"decisionId":"d"}}}`, cli.ExitError},
		{"only a notification", `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`, `{}`, cli.ExitUsage},
		{"a method that is not known", `{"jsonrpc":"2.0","id":1,"method":"session/Request_permission","params":{}}`, `{}`, cli.ExitUsage},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, `{}`, cli.ExitUsage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			messages, err := parseMessages([]byte(tt.input))
			if err != nil {
				t.Fatal(err)
			}
			a := &app{Streams: cli.Streams{Out: io.Discard, Err: io.Discard}}
			err = a.decideAll(t.Context(), answers(tt.answer), messages, &decideOptions{cwd: "/"})
			if code := a.report(err); code != tt.code {
				t.Errorf("exit code %d (%v), want %d", code, err, tt.code)
			}
		})
	}
}

// TestSettingsFile: a file that others can write could turn rules off, and one
// that is no file must not hold the daemon.
func TestSettingsFile(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, file string) error
		says string // "" if it is read
	}{
		{"good", func(_ *testing.T, file string) error { return os.Chmod(file, 0o644) }, ""},
		{"group may write", func(_ *testing.T, file string) error { return os.Chmod(file, 0o664) }, "mode 0664"},
		{"all may write", func(_ *testing.T, file string) error { return os.Chmod(file, 0o666) }, "mode 0666"},
		{"fifo", func(_ *testing.T, file string) error {
			return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600))
		}, "not a regular file"},
		{"folder", func(_ *testing.T, file string) error {
			return errors.Join(os.Remove(file), os.Mkdir(file, 0o700))
		}, "not a regular file"},
		{"another user's", func(t *testing.T, file string) error {
			if os.Geteuid() != 0 {
				t.Skip("giving a file to another user needs root")
			}
			return os.Chown(file, 4711, -1)
		}, "belongs to uid 4711"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), account.SettingsName)
			if err := os.WriteFile(file, []byte("only_org = true\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(t, file); err != nil {
				t.Fatal(err)
			}
			read := make(chan error, 1)
			go func() {
				_, err := account.ReadSettingsFile(file)
				read <- err
			}()
			select {
			case err := <-read:
				if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
					t.Errorf("error is %v, want it to say %q", err, tt.says)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("reading does not end")
			}
		})
	}
}
