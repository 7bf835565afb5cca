package hooktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// What a harness does of an answer, in its own reading of it.
const (
	Runs   = "runs"
	Stops  = "stops"
	Asks   = "asks"
	Leaves = "leaves" // to the harness's own rules and questions
)

// Means reads an answer as its harness does. What is not one of its answers is an
// error: most harnesses then go on.
func Means(harness, event string, stdout []byte, stderr string, code int) (string, error) {
	said := fmt.Sprintf("%s: exit code %d, stdout %q, stderr %q", harness, code, stdout, stderr)
	if code != 0 {
		if code != 2 || len(stdout) > 0 || strings.TrimSpace(stderr) == "" || json.Valid([]byte(stderr)) || harness == "cline" {
			return "", errors.New("not a block: " + said)
		}
		return Stops, nil
	}
	if stderr != "" {
		return "", errors.New("text on stderr: " + said)
	}
	var flat map[string]any
	if len(stdout) > 0 {
		if err := strictjson.Unmarshal(stdout, &flat); err != nil {
			return "", fmt.Errorf("%w: %s", err, said)
		}
	}
	word, err := wordOf(harness, event, flat)
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	switch word {
	case "allow":
		return Runs, nil
	case "ask":
		return Asks, nil
	case "deny":
		return Stops, nil
	case Leaves, Runs:
		return word, nil
	}
	return "", errors.New("no answer: " + said)
}

// wordOf is the verdict in an answer.
func wordOf(harness, event string, flat map[string]any) (string, error) {
	switch harness {
	case "claude", "codex":
		if flat == nil {
			return Leaves, nil
		}
		return hookSpecific(harness, event, flat)
	case "gemini":
		if flat == nil {
			return Leaves, nil
		}
		return text(flat, "decision"), only(flat, "decision", "reason", "systemMessage")
	case "cursor":
		word := text(flat, "permission")
		if word == "ask" { // it was seen to run the command
			word = Runs
		}
		return word, only(flat, "permission", "user_message", "agent_message")
	case "copilot":
		if flat != nil && len(flat) == 0 {
			return Leaves, nil
		}
		if event == "PermissionRequest" {
			return text(flat, "behavior"), only(flat, "behavior", "message", "interrupt")
		}
		word := text(flat, "permissionDecision")
		if word == "ask" { // it was seen to run the tool
			word = Runs
		}
		return word, only(flat, "permissionDecision", "permissionDecisionReason")
	case "cline":
		word := "allow"
		if stop, _ := flat["cancel"].(bool); stop {
			word = "deny"
		}
		return word, only(flat, "cancel", "errorMessage", "contextModification")
	}
	return "", errors.New("no such harness")
}

// hookSpecific reads the answers of Claude Code and Codex.
func hookSpecific(harness, event string, flat map[string]any) (string, error) {
	in, _ := flat["hookSpecificOutput"].(map[string]any)
	if len(flat) != 1 || text(in, "hookEventName") != event {
		return "", errors.New("an answer to another event")
	}
	if event == "PermissionRequest" {
		d, _ := in["decision"].(map[string]any)
		known := []string{"behavior", "message"}
		if harness == "claude" {
			known = append(known, "interrupt")
		}
		word := text(d, "behavior")
		if word == "deny" && text(d, "message") == "" {
			return "", errors.New("a deny without words")
		}
		return word, errors.Join(only(in, "hookEventName", "decision"), only(d, known...))
	}
	word := text(in, "permissionDecision")
	if harness == "codex" && (word != "deny" || text(in, "permissionDecisionReason") == "") {
		word = Runs // what it does not know, it goes past
	}
	return word, only(in, "hookEventName", "permissionDecision", "permissionDecisionReason")
}

func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// only wants no member that the harness does not know.
func only(m map[string]any, names ...string) error {
	for name := range m {
		if !slices.Contains(names, name) {
			return fmt.Errorf("it does not know %q", name)
		}
	}
	return nil
}
