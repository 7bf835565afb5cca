package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// opaModule is the module whose rules permd evaluates with, and whose server it is
// compared with.
const opaModule = "github.com/open-policy-agent/opa"

// The entry points: the three sets of a layer, which is what permd reads of one, for
// calls about which the shipped rules alone say something, and for those of servers' tools.
const (
	entryBase = "/v1/data/speed/base"
	entryBoth = "/v1/data/speed/both"
	entries   = `package speed

base := {"allow": data.permd.base.allow, "ask": data.permd.base.ask, "deny": data.permd.base.deny}

both := {"allow": data.permd.base.allow | data.permd.user.allow, "ask": data.permd.base.ask, "deny": data.permd.base.deny}
`
)

// entry returns the entry point for calls of a kind.
func entry(kind string) string {
	if kind == mcp {
		return entryBoth
	}
	return entryBase
}

// buildOPA returns the program opa of the version that permd is built with. It is built
// once and kept in the user's cache folder.
func buildOPA(ctx context.Context) (program string, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", opaModule).Output()
	if err != nil {
		return "", fmt.Errorf("asking for the version of OPA: %w", err)
	}
	version := strings.TrimSpace(string(out))
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "permd-bench", "opa-"+version)
	program = filepath.Join(dir, "opa")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	build := exec.CommandContext(ctx, "go", "install", opaModule+"@"+version)
	build.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building OPA: %w: %s", err, lastLine(out))
	}
	return program, nil
}

func lastLine(text []byte) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(lines[len(lines)-1])
}

// writeRules writes the rules for OPA and returns their folder.
func (w *world) writeRules() (string, error) {
	dir := filepath.Join(w.dir, "rules")
	if err := write(filepath.Join(dir, "speed.rego"), entries); err != nil {
		return "", err
	}
	for name, text := range modules() {
		if err := write(filepath.Join(dir, name), text); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// startOPA starts OPA's server with the rules. It logs errors alone, as permd does, and
// its decisions to a file if it is the server for that.
func (w *world) startOPA(ctx context.Context, name, program string) error {
	rules, err := w.writeRules()
	if err != nil {
		return err
	}
	s := &server{name: name, socket: filepath.Join(w.dir, name+".sock"), http: true}
	args := []string{"run", "--server", "--addr", "unix://" + s.socket, "--log-level", "error", "--disable-telemetry", "--skip-version-check", rules}
	if name == serverOPALog {
		args = append(args, "--set", "decision_logs.console=true")
	}
	s.cmd = exec.CommandContext(ctx, program, args...)
	s.cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GOGC=" + os.Getenv("GOGC"), "GOMEMLIMIT=" + os.Getenv("GOMEMLIMIT")}
	return w.start(s)
}

// query returns a request to OPA's server about a document.
func query(kind string, document []byte) string {
	return post(entry(kind), fmt.Appendf(nil, `{"input":%s}`, document))
}

// allowed returns an error unless OPA's answer is that some rule allows, and none denies. A
// shipped rule may ask: permd's precedence says that the person's rule wins.
func allowed(answer []byte) error {
	var a struct {
		Result struct {
			Allow, Deny []any
		} `json:"result"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if r := a.Result; len(r.Allow) == 0 || len(r.Deny) > 0 {
		return errors.Join(errWrongAnswer, fmt.Errorf("OPA answers %.400s", answer))
	}
	return nil
}
