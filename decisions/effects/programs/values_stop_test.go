package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOptionsAfterOperands compares with real programs whether a word after the first
// operand is still an option. If only the table said so, its value would be taken for
// text: gofmt reads all three files of "gofmt -l main.go -r .env".
func TestOptionsAfterOperands(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs each program of the table that is installed")
	}
	table := shipped(t)
	if endsOptions(table, "go test") {
		t.Error("go test reads options after packages, but the table ends them")
	}
	for _, line := range []string{
		"gofmt", "go build", "go install", "go vet", "go list", "go env", "go version", "go doc", "go fmt", "go clean",
		"go generate", "go mod why", "go mod download", "go mod graph", "go mod verify", "go mod tidy", "go mod vendor", "go mod edit",
	} {
		words := strings.Fields(line)
		if _, err := exec.LookPath(words[0]); err != nil {
			t.Logf("there is no %s here", words[0])
			continue
		}
		dir := t.TempDir()
		// Telemetry is written by a process that goes on when the program has ended.
		telemetry := filepath.Join(".config", "go", "telemetry")
		if err := os.MkdirAll(filepath.Join(dir, telemetry), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"go.mod": "module x\n\ngo 1.20\n", "main.go": "package main\n\nfunc main() {}\n", filepath.Join(telemetry, "mode"): "off",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(words[0], append(words[1:], "./main.go", "-nosuchflag")...)
		cmd.Dir = dir
		cmd.Env = []string{
			"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "GOTOOLCHAIN=local", "GOFLAGS=", "GOPROXY=off", "GOCACHE=" + dir,
		}
		out, _ := cmd.CombinedOutput()
		read := strings.Contains(string(out), "flag provided but not defined")
		if got := !endsOptions(table, line); got != read {
			t.Errorf("%s: options after operands: the table says %t, the program %t: %.200s", line, got, read, out)
		}
	}
}

// endsOptions reports whether the options of a program or sub-command end at its first operand.
func endsOptions(table *Table, line string) bool {
	words := strings.Fields(line)
	p := table.entryOf(words[0])
	for _, name := range words[1:] {
		p = p.Subs[name]
	}
	return p.Stop
}
