package main

import (
	"context"
	"io"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/decide"
	"github.com/permd/permd/internal/strictjson"
)

// answers is a daemon that answers all calls but permd/session with one result.
type answers string

func (a answers) Call(_ context.Context, method string, _, result any) error {
	if method == "permd/session" {
		return strictjson.Unmarshal(strictjson.Value(`{"protocol":1}`), result)
	}
	return strictjson.Unmarshal(strictjson.Value(a), result)
}

func (a answers) Notify(context.Context, string, any) error { return nil }

// TestDecideExitCode: the exit code is that of allow only if each call is allowed.
func TestDecideExitCode(t *testing.T) {
	t.Parallel()
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
			messages, err := decide.Parse([]byte(tt.input))
			if err != nil {
				t.Fatal(err)
			}
			a := &app{Streams: cli.Streams{Out: io.Discard, Err: io.Discard}}
			err = a.decideAll(t.Context(), answers(tt.answer), messages, &decideOptions{Session: decide.Session{Cwd: "/"}})
			if code := a.report(err); code != tt.code {
				t.Errorf("exit code %d (%v), want %d", code, err, tt.code)
			}
		})
	}
}
