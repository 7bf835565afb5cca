package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// opencode has no hook that can stop a tool. If its settings say ask, it sends its
// questions to the clients of its server. The bridge in examples/clients is such a
// client: it answers what permd allows or denies, and leaves other questions open.
var opencode = harness{
	name: "opencode", title: "opencode", pkg: "opencode-ai", seen: "1.18.33", bin: "opencode",
	env: func(*model) []string {
		return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
	},
	setup: func(home string, m *model, _ bool) error {
		return writeFile(filepath.Join(home, ".config", "opencode", "opencode.json"), fmt.Sprintf(`{
  "autoupdate": false, "share": "disabled", "model": "stand/%[1]s", "small_model": "stand/%[1]s",
  "provider": {"stand": {"npm": "@ai-sdk/openai-compatible", "name": "stand-in",
    "options": {"baseURL": "%[2]s/v1", "apiKey": "none"}, "models": {"%[1]s": {"name": "stand-in", "tool_call": true}}}}
}
`, modelName, m.URL))
	},
	drive: (*live).driveOpencode,
	except: map[string]string{
		"hangs":   must,
		"bypass":  must,        // opencode asks nobody, not even permd
		"managed": "not tried", // permd hook install does not know opencode
	},
}

// quiet is how long a question must stay open to count as not answered.
const quiet = 3 * time.Second

// driveOpencode starts opencode's server and the bridge, and sends the prompt.
func (l *live) driveOpencode(ctx context.Context, h *harness, t *trial) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	permission := "ask"
	if t.row.bypass {
		permission = "allow"
	}
	// With port 0 it would always take the same port.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := fmt.Sprint(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	cmd := exec.CommandContext(ctx, l.program(h), "serve", "--hostname", "127.0.0.1", "--port", port)
	cmd.Dir, cmd.Env = t.project, append(t.env, fmt.Sprintf(`OPENCODE_PERMISSION={"*":%q}`, permission))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		text += log.String()
	}()
	server := ""
	for lines := bufio.NewScanner(out); server == "" && lines.Scan(); {
		_, server, _ = strings.Cut(lines.Text(), "listening on ")
	}
	if server == "" {
		return "", errors.New("opencode's server did not start")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	said, err := startBridge(ctx, t, server)
	if err != nil {
		return "", err
	}
	var session struct{ ID string }
	if err := post(ctx, server+"/session", object{}, &session); err != nil {
		return "", err
	}
	done := make(chan error, 1)
	go func() {
		done <- post(ctx, server+"/session/"+session.ID+"/message", object{"parts": []any{object{"type": "text", "text": t.prompt}}}, nil)
	}()
	return l.wait(ctx, t, done, said)
}

// startBridge runs the bridge until ctx ends, and returns a channel of the lines
// that it prints.
func startBridge(ctx context.Context, t *trial, server string) (<-chan string, error) {
	said := make(chan string, 16)
	if t.row.bare || t.row.gone {
		return said, nil
	}
	bridge, err := filepath.Abs("examples/clients/opencode/bridge.mjs")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", bridge, server)
	cmd.Dir, cmd.Env = t.project, t.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the bridge: %w", err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said <- lines.Text()
		}
		_ = cmd.Wait()
	}()
	return said, nil
}

// wait waits until opencode has ended the conversation, or a question stays open.
func (l *live) wait(ctx context.Context, t *trial, done <-chan error, said <-chan string) (string, error) {
	text := ""
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	var open <-chan time.Time // fires when a question has been open for the time of quiet
	for {
		select {
		case err := <-done:
			return text, err
		case line := <-said:
			if text += line + "\n"; strings.Contains(line, "is for you") {
				open = time.After(quiet)
			}
		case <-look.C:
			// Without a bridge there are no lines.
			if t.row.gone && open == nil && l.model.waits() {
				open = time.After(quiet)
			}
		case <-open:
			return text + "the question stays open\n", nil
		case <-ctx.Done():
			return text, ctx.Err()
		}
	}
}

// post sends one request and reads its answer into v, if there is one.
func post(ctx context.Context, url string, body object, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(arguments(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	if v == nil {
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	return json.NewDecoder(res.Body).Decode(v)
}
