package acp

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// Agents send questions, plan reviews and requests for wider permissions in the
// same message as tool calls. Answering one of these by a rule about tools
// would be answering for the person, so they are recognised here by everything
// that agents are known to send; a false positive costs a question.

// questionTools are names of tools that ask the person something, without
// case, blanks, dashes and underscores.
var questionTools = []string{
	"askfollowupquestion", "askhuman", "askquestion", "askquestions", "askuser", "askuserquestion", "askuserquestions",
	"doomloop", "maxiterations", "planmoderespond", "question", "requestuserinput", "userquestion",
}

// modeTools are names of tools that change how the agent works or asks.
var modeTools = []string{
	"actmoderespond", "approveplan", "enterplanmode", "exitplan", "exitplanmode", "planenter", "planexit", "planmodeenter", "planmodeexit",
	"setmode", "switchmode", "switchtoactmode",
}

// wideningTools are names of tools that request wider limits than the call's.
var wideningTools = []string{"requestpermission", "requestpermissions"}

// findings is the classification of a request.
type findings struct {
	marks                []effects.Mark
	question, modeSwitch bool
}

func (r *findings) isQuestion(why, from string) {
	r.question = true
	r.mark(effects.KindQuestion, why, from)
}

func (r *findings) isSwitch(why, from string) {
	r.modeSwitch = true
	r.mark(effects.KindMode, why, from)
}

// widens records that the agent's limits would be widened. The option for once still
// means only that, so an explicit answer can be expressed.
func (r *findings) widens(why, from string) { r.mark(effects.KindMode, why, from) }

// mark keeps the first reason of a kind: further ones do not help the person.
func (r *findings) mark(kind effects.Kind, why, from string) {
	if !slices.ContainsFunc(r.marks, func(m effects.Mark) bool { return m.Kind == kind }) {
		r.marks = append(r.marks, effects.Mark{Kind: kind, Why: why, From: from})
	}
}

// recognise classifies a request that may be something else than a tool call.
func recognise(call *effects.Call, options []Option) findings {
	var r findings
	r.byName(call.Tool.Name, "name")
	r.byName(call.Claims.Title, "title")
	prompt, _, _ := strings.Cut(call.Claims.Prompt, "\n")
	r.byName(prompt, "title")
	r.byName(call.ID, "toolCallId")
	if strings.HasPrefix(call.ID, "pi-ui-") {
		// pi-acp names the dialogs of its extensions so.
		r.isQuestion("an extension of the agent asks the person", "toolCallId")
	}
	if call.Claims.Kind == "switch_mode" {
		r.isSwitch("the agent says that the call switches its mode", "kind")
	}
	r.byMeta(call.Claims.Meta)
	r.byInput(call)
	r.byOptions(options)
	return r
}

func (r *findings) byName(name, from string) {
	switch bare := bareName(name); {
	case bare == "":
	case slices.Contains(questionTools, bare):
		r.isQuestion("the tool asks the person something", from)
	case slices.Contains(modeTools, bare):
		r.isSwitch("the tool switches the agent's mode", from)
	case slices.Contains(wideningTools, bare):
		r.widens("the agent asks for wider permissions", from)
	}
}

// byMeta checks _meta: Qwen Code marks questions there, Vibe the stages of moving a
// session, and Codex passes its own request on.
func (r *findings) byMeta(meta strictjson.Value) {
	if meta == nil {
		return
	}
	if text(meta, "qwenInteractionKind") == "user_question" {
		r.isQuestion("the agent says that it asks the person something", "_meta.qwenInteractionKind")
	}
	if member(meta, "teleport") != nil {
		r.isQuestion("the agent asks how to go on with moving the session", "_meta.teleport")
	}
	params := member(meta, "codex", "params")
	for _, name := range []string{"grantRoot", "additionalPermissions", "permissions"} {
		if isPresent(member(params, name)) {
			r.widens("the agent asks for wider permissions", "_meta.codex.params."+name)
		}
	}
}

// byInput checks for requests for wider limits: those of Codex contain the requested
// permissions, and Gemini's agents name a file outside of the workspace in the call's
// id.
func (r *findings) byInput(call *effects.Call) {
	if strings.HasPrefix(call.ID, "resolve-prompt-") {
		r.widens("the file's path would be added to the agent's workspace", "toolCallId")
	}
	input, err := strictjson.ParseObject(orEmpty(call.Input))
	if err != nil {
		return
	}
	for _, m := range input {
		switch m.Name {
		case "permissions":
			if strictjson.Kind(m.Value) != '{' {
				continue // the mode of a file, for a tool that sets it
			}
		case "additionalPermissions", "additional_permissions", "grantRoot", "grant_root":
		default:
			continue
		}
		if isPresent(m.Value) {
			r.widens("the agent asks for wider permissions", "rawInput."+m.Name)
		}
	}
}

// byOptions checks for options that are answers or modes.
func (r *findings) byOptions(options []Option) {
	if len(options) > 0 && oneKind(options) {
		r.isQuestion("all options are of one kind, so they are answers", "options")
	}
	for _, o := range options {
		if isAnswer(o.ID) {
			r.isQuestion("the options are answers to a question", "options")
			break
		}
	}
	if slices.ContainsFunc(options, isPlanOption) {
		r.isSwitch("the options are those of a plan review", "options")
	}
	once := ofKind(options, AllowOnce)
	if len(once) > 0 && !slices.ContainsFunc(once, func(o Option) bool { return !o.switchesMode() }) {
		r.isSwitch("the option that allows once switches the agent's mode", "options")
	}
	for _, o := range options {
		if o.Kind == AllowOnce && strings.HasPrefix(o.ID, "allow_permissions_") {
			r.widens("the agent asks for wider permissions", "options")
			break
		}
	}
}

// isAnswer matches the ids that Kimi Code gives to answers: q0_opt_1, q0_skip.
func isAnswer(id string) bool {
	rest, ok := strings.CutPrefix(id, "q")
	if !ok {
		return false
	}
	after := strings.TrimLeft(rest, "0123456789")
	return len(after) < len(rest) && (strings.HasPrefix(after, "_opt_") || after == "_skip")
}

// isPlanOption matches the ids that Claude's adapter, Codex, Kimi Code and
// Qwen Code give to the answers of a plan review.
func isPlanOption(o Option) bool {
	for _, prefix := range []string{"exit-plan-", "exit_plan_", "plan_opt_", "plan_approve", "implement_plan"} {
		if strings.HasPrefix(o.ID, prefix) {
			return true
		}
	}
	return o.ID == "restore_previous"
}

// harnessAsks returns why the agent itself wants a person to decide; "" if it does not
// say so. Claude's adapter tells JetBrains' client to offer "no" first.
func harnessAsks(meta strictjson.Value) string {
	air := member(meta, "jetbrains", "air")
	for _, v := range []strictjson.Value{member(air, "permission", "defaultToNo"), member(air, "defaultToNo")} {
		if strictjson.Kind(v) == 't' {
			return "the agent offers no as the default answer"
		}
	}
	return ""
}

// bareName returns the name of a tool that byName knows, in any spelling: case, blanks,
// dashes and underscores make no difference. It returns "" for other names.
func bareName(s string) string {
	const most = 64 // longer texts are no tool's name
	if len(s) > most {
		return ""
	}
	// On the stack; a letter in lower case may take more bytes than in upper case.
	bare := make([]byte, 0, 4*most)
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			bare = utf8.AppendRune(bare, unicode.ToLower(r))
		}
	}
	return specialTools[string(bare)]
}

// specialTools are the names that byName knows, by themselves.
var specialTools = func() map[string]string {
	names := map[string]string{}
	for _, list := range [][]string{questionTools, modeTools, wideningTools} {
		for _, name := range list {
			names[name] = name
		}
	}
	return names
}()

// isPresent reports whether a value is present and not empty.
func isPresent(v strictjson.Value) bool {
	switch strictjson.Kind(v) {
	case 0, 'n', 'f':
		return false
	}
	return !isEmpty(v)
}
