package hooktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// What a harness does after an answer.
const (
	Runs   = "runs"
	Stops  = "stops"
	Asks   = "asks"
	Leaves = "leaves" // the harness follows its own rules or asks
)

// Interpret returns what a harness does after an answer. An answer that is not valid for
// the harness is an error: most harnesses then run the tool.
func Interpret(harness, event string, stdout []byte, stderr string, code int) (string, error) {
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
	word, err := verdictOf(harness, event, flat)
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

// verdictOf returns the verdict in an answer.
func verdictOf(harness, event string, flat map[string]any) (string, error) {
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
		return stringMember(flat, "decision"), onlyMembers(flat, "decision", "reason", "systemMessage")
	case "cursor":
		word := stringMember(flat, "permission")
		if word == "ask" { // observed: Cursor runs the command
			word = Runs
		}
		return word, onlyMembers(flat, "permission", "user_message", "agent_message")
	case "copilot":
		if flat != nil && len(flat) == 0 {
			return Leaves, nil
		}
		if event == "PermissionRequest" {
			return stringMember(flat, "behavior"), onlyMembers(flat, "behavior", "message", "interrupt")
		}
		word := stringMember(flat, "permissionDecision")
		if word == "ask" { // observed: Copilot runs the tool
			word = Runs
		}
		return word, onlyMembers(flat, "permissionDecision", "permissionDecisionReason")
	case "cline":
		word := "allow"
		if stop, _ := flat["cancel"].(bool); stop {
			word = "deny"
		}
		return word, onlyMembers(flat, "cancel", "errorMessage", "contextModification")
	}
	return "", errors.New("no such harness")
}

// hookSpecific reads the answers of Claude Code and Codex.
func hookSpecific(harness, event string, flat map[string]any) (string, error) {
	in, _ := flat["hookSpecificOutput"].(map[string]any)
	if len(flat) != 1 || stringMember(in, "hookEventName") != event {
		return "", errors.New("an answer to another event")
	}
	if event == "PermissionRequest" {
		d, _ := in["decision"].(map[string]any)
		known := []string{"behavior", "message"}
		if harness == "claude" {
			known = append(known, "interrupt")
		}
		word := stringMember(d, "behavior")
		if word == "deny" && stringMember(d, "message") == "" {
			return "", errors.New("a deny without words")
		}
		return word, errors.Join(onlyMembers(in, "hookEventName", "decision"), onlyMembers(d, known...))
	}
	word := stringMember(in, "permissionDecision")
	if harness == "codex" && (word != "deny" || stringMember(in, "permissionDecisionReason") == "") {
		word = Runs // Codex ignores answers that it does not know
	}
	return word, onlyMembers(in, "hookEventName", "permissionDecision", "permissionDecisionReason")
}

func stringMember(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// onlyMembers returns an error if m has a member with another name.
func onlyMembers(m map[string]any, names ...string) error {
	for name := range m {
		if !slices.Contains(names, name) {
			return fmt.Errorf("it does not know %q", name)
		}
	}
	return nil
}
