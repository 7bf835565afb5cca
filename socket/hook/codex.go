package hook

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// codexRules are the modes in which Codex goes by its approval policy: it asks,
// or runs the command in the sandbox that its person chose.
var codexRules = []string{"default", "acceptEdits", "plan"}

// codexQuestions are the tools that only ask the person.
var codexQuestions = []string{"request_user_input"}

// codexNetwork is how the description of a request begins that is about reaching
// a host.
const codexNetwork = "network-access "

func codex() *Harness {
	return &Harness{
		Name: "codex", Agent: effects.Party{Name: "codex"},
		read: readCodex, say: sayCodex, blocks: Block,
	}
}

// readCodex reads what Codex writes, which has the members of Claude Code's.
func readCodex(in []byte) (*Request, error) {
	r, err := readClaude(in)
	if err != nil {
		return nil, err
	}
	r.AtShell = false
	known := slices.Contains(codexRules, r.Mode)
	// Before a tool there is no word for ask; at a request for permission, saying
	// nothing goes on to the question.
	r.asks = r.Event == permissionRequest && known
	r.rules = known
	r.question = slices.Contains(codexQuestions, r.Call.Name) && r.Call.Server == ""
	if r.Event == permissionRequest {
		r.Call.Input, err = codexHost(r.Call.Input)
	}
	return r, err
}

// codexHost adds the host to the input of a request that is about reaching one.
func codexHost(input strictjson.Value) (strictjson.Value, error) {
	o, err := strictjson.ParseObject(input)
	if err != nil {
		return nil, err
	}
	v, _ := o.Get("description")
	text, _ := strictjson.ParseString(v)
	host, ok := strings.CutPrefix(text, codexNetwork)
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

func sayCodex(r *Request, o answerKind, text string) Output {
	switch {
	case o == silent, o == ask && r.Event == permissionRequest:
		return Output{}
	case o == allow && r.Event == permissionRequest:
		return permissionSays(permissionDecision{Behavior: "allow"})
	case o == allow:
		return Output{} // an allow in words is an error there
	case r.Event == permissionRequest:
		return permissionSays(permissionDecision{Behavior: "deny", Message: "permd: " + text})
	}
	return preToolUseSays("deny", text)
}
