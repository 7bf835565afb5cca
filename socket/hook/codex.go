package hook

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// codexRuleModes are the modes in which Codex follows its approval policy: it asks, or
// runs the command in the sandbox that the person configured.
var codexRuleModes = []string{"default", "acceptEdits", "plan"}

// codexQuestionTools are the tools that do nothing but ask the person.
var codexQuestionTools = []string{"request_user_input"}

// codexNetworkPrefix begins the description of a request for network access. The host
// follows.
const codexNetworkPrefix = "network-access "

func codex() *Harness {
	return &Harness{
		Name: "codex", Agent: effects.Party{Name: "codex"},
		read: readCodex, readAfter: readClaudeAfter, encode: encodeCodex, encodeBlock: Block,
	}
}

// readCodex parses the input of Codex's hooks, which has the members of Claude Code's.
func readCodex(in []byte) (*Request, error) {
	r, err := readClaude(in)
	if err != nil {
		return nil, err
	}
	r.AtShell = false
	known := slices.Contains(codexRuleModes, r.Mode)
	// PreToolUse has no answer for ask. At PermissionRequest, no answer makes Codex ask.
	r.canAsk = r.Event == permissionRequest && known
	r.ownRules = known
	r.onlyAsks = slices.Contains(codexQuestionTools, r.Call.Name) && r.Call.Server == ""
	if r.Event == permissionRequest {
		r.Call.Input, err = codexHost(r.Call.Input)
	}
	return r, err
}

// codexHost adds the host to the input of a request for network access.
func codexHost(input strictjson.Value) (strictjson.Value, error) {
	o, err := strictjson.ParseObject(input)
	if err != nil {
		return nil, err
	}
	v, _ := o.Get("description")
	text, _ := strictjson.ParseString(v)
	host, ok := strings.CutPrefix(text, codexNetworkPrefix)
	if _, has := o.Get("networkApprovalContext"); !ok || has {
		return input, nil
	}
	members := map[string]strictjson.Value{}
	for _, m := range o {
		members[m.Name] = m.Value
	}
	context, err := json.Marshal(map[string]string{"host": strings.TrimSpace(host)})
	if err != nil {
		return nil, err
	}
	members["networkApprovalContext"] = context
	return json.Marshal(members, json.Deterministic(true))
}

func encodeCodex(r *Request, o answerKind, text string) Output {
	switch {
	case o == noOpinion, o == ask && r.Event == permissionRequest:
		return Output{}
	case o == allow && r.Event == permissionRequest:
		return encodePermission(permissionDecision{Behavior: "allow"})
	case o == allow:
		return Output{} // Codex rejects an explicit allow
	case r.Event == permissionRequest:
		return encodePermission(permissionDecision{Behavior: "deny", Message: text})
	}
	return encodePreToolUse("deny", text)
}
