package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/socket/client"
)

// TestReport: each error has its code, its text and something to do about it.
func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code int
		hint string
	}{
		{"none", nil, exitOK, ""},
		{"said already", &failure{code: exitDeny}, exitDeny, ""},
		{"with a hint", failf(exitError, "do this", "opening x: y"), exitError, "do this"},
		{"plain", errors.New("opening x: y"), exitError, hints[exitError]},
		{"usage", failf(exitUsage, "", "opening x: y"), exitUsage, hints[exitUsage]},
		{"rules", failf(exitCompile, "", "opening x: y"), exitCompile, hints[exitCompile]},
		{"tests", failf(exitTests, "", "opening x: y"), exitTests, hints[exitTests]},
		{"no daemon", fmt.Errorf("opening x: y: %w", client.ErrUnreachable), exitUnreachable, hints[exitUnreachable]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{err: &out}
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
