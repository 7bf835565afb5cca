package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/socket/client"
)

// TestReport: each error has its code, its text and something to do about it.
func TestReport(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		code int
		hint string
	}{
		{"none", nil, cli.ExitOK, ""},
		{"said already", &cli.Failure{Code: cli.ExitDeny}, cli.ExitDeny, ""},
		{"with a hint", cli.Failf(cli.ExitError, "do this", "opening x: y"), cli.ExitError, "do this"},
		{"plain", errors.New("opening x: y"), cli.ExitError, cli.Hints[cli.ExitError]},
		{"usage", cli.Failf(cli.ExitUsage, "", "opening x: y"), cli.ExitUsage, cli.Hints[cli.ExitUsage]},
		{"rules", cli.Failf(cli.ExitCompile, "", "opening x: y"), cli.ExitCompile, cli.Hints[cli.ExitCompile]},
		{"tests", cli.Failf(cli.ExitTests, "", "opening x: y"), cli.ExitTests, cli.Hints[cli.ExitTests]},
		{"no daemon", fmt.Errorf("opening x: y: %w", client.ErrUnreachable), cli.ExitUnreachable, cli.Hints[cli.ExitUnreachable]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{Streams: cli.Streams{Err: &out}}
			if code := a.report(tt.err); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			want := ""
			if tt.hint != "" {
				want = "permd: hint: " + tt.hint + "\n"
			}
			if said := out.String(); tt.hint == "" && said != "" || !strings.HasSuffix(said, want) || tt.hint != "" && !strings.HasPrefix(said, "permd: error: opening x: y") {
				t.Errorf("it says %q", said)
			}
		})
	}
}
