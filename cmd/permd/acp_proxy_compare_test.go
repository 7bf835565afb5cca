package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pairMessage is one message of a conversation, with the members that are compared.
type pairMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params pairParams      `json:"params"`
	Result struct {
		Outcome struct {
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	} `json:"result"`
}

type pairParams struct {
	Options []json.RawMessage `json:"options"`
	Update  struct {
		SessionUpdate string          `json:"sessionUpdate"`
		Content       json.RawMessage `json:"content"`
	} `json:"update"`
}

func parsePair(line string) (w pairMessage) {
	_ = json.Unmarshal([]byte(line), &w) // what cannot be read is compared as bytes
	return w
}

func (w *pairMessage) request() bool { return w.Method != "" && w.ID != nil }

func (w *pairMessage) answers(ids []string) bool {
	return w.Method == "" && w.ID != nil && slices.Contains(ids, string(w.ID))
}

// notReceived returns the ids of the requests that one side made and the other did
// not get.
func notReceived(said, received []string) (ids []string) {
	got := map[string]bool{}
	for _, line := range received {
		if w := parsePair(line); w.request() {
			got[string(w.ID)] = true
		}
	}
	for _, line := range said {
		if w := parsePair(line); w.request() && !got[string(w.ID)] {
			ids = append(ids, string(w.ID))
		}
	}
	return ids
}

// texts returns the agent's messages to the person.
func (h *received) texts() (texts []string) {
	for _, line := range h.agentSaid {
		if u := parsePair(line).Params.Update; u.SessionUpdate == "agent_message_chunk" {
			var content struct{ Text string }
			_ = json.Unmarshal(u.Content, &content)
			texts = append(texts, content.Text)
		}
	}
	return texts
}

// checkPassage compares what each side sent with what the other received, byte for
// byte and in order, except requests that permd must answer, and those that the
// person is shown in another form.
func (h *received) checkPassage(t *testing.T, plan pairPlan) {
	t.Helper()
	permd, modes := notReceived(h.agentSaid, h.clientHeard), notReceived(h.clientSaid, h.agentHeard)
	h.checkAnswered(t, plan, permd, modes)
	passage(t, "from the agent to the client", h.agentSaid, h.clientHeard,
		func(m pairMessage) bool { return m.request() && slices.Contains(permd, string(m.ID)) },
		func(received pairMessage) bool { return received.answers(modes) },
		func(said, received string) bool { return unshown(t, said, received) == said })
	passage(t, "from the client to the agent", h.clientSaid, h.agentHeard,
		func(m pairMessage) bool { return m.request() && slices.Contains(modes, string(m.ID)) },
		func(received pairMessage) bool { return received.answers(permd) },
		sameButOption)
}

// checkAnswered compares which side answered which request with the plan, and checks
// that each request of the agent has one answer.
func (h *received) checkAnswered(t *testing.T, plan pairPlan, permd, modes []string) {
	t.Helper()
	var want, wantModes, got []string
	for _, s := range plan.Steps {
		verb, _, _ := strings.Cut(s.Prompt, " ")
		switch {
		case s.Mode != "":
			wantModes = append(wantModes, fmt.Sprintf("permd answers: %v", s.permd))
		case slices.Contains([]string{"run", "withdraw", "stop", "write", "read", "terminal"}, verb):
			want = append(want, fmt.Sprintf("permd answers: %v", s.permd))
		}
	}
	gates := []string{"session/request_permission", "fs/write_text_file", "fs/read_text_file", "terminal/create", "session/set_mode"}
	for _, side := range []struct {
		said, answers, own []string
	}{{h.agentSaid, h.agentHeard, permd}, {h.clientSaid, h.clientHeard, modes}} {
		for _, line := range side.said {
			w := parsePair(line)
			if slices.Contains(gates, w.Method) {
				got = append(got, fmt.Sprintf("permd answers: %v", slices.Contains(side.own, string(w.ID))))
			}
			if n := len(slices.DeleteFunc(slices.Clone(side.answers), func(a string) bool {
				answer := parsePair(a)
				return !answer.answers([]string{string(w.ID)})
			})); w.request() && n != 1 {
				t.Errorf("%d answers to %s", n, line)
			}
		}
	}
	if d := cmp.Diff(append(want, wantModes...), got); d != "" {
		t.Errorf("who answered (-want +got):\n%s", d)
	}
}

// passage compares what was sent with what was received.
func passage(t *testing.T, what string, said, received []string, dropped, added func(pairMessage) bool, alike func(said, received string) bool) {
	t.Helper()
	for len(said) > 0 || len(received) > 0 {
		switch {
		case len(said) > 0 && len(received) > 0 && said[0] == received[0]:
			said, received = said[1:], received[1:]
		case len(said) > 0 && dropped(parsePair(said[0])):
			said = said[1:]
		case len(received) > 0 && added(parsePair(received[0])):
			received = received[1:]
		case len(said) > 0 && len(received) > 0 && alike(said[0], received[0]):
			said, received = said[1:], received[1:]
		default:
			t.Errorf("%s: of %d lines left was said\n%.2000q\nand of %d was received\n%.2000q", what, len(said), said[:min(1, len(said))], len(received), received[:min(1, len(received))])
			return
		}
	}
}

// unshown turns the request that the person was shown back into the one that the
// agent sent, so that any other difference shows. The agent's options must be
// present, except those that the agent itself would remember, and only permd's may
// be added.
func unshown(t *testing.T, said, shown string) string {
	t.Helper()
	if said == shown {
		return shown // permd had nothing to offer
	}
	before, after := parsePair(said), parsePair(shown)
	if before.Method != "session/request_permission" || after.Params.Options == nil {
		return shown
	}
	var own []json.RawMessage
	always := func(o json.RawMessage) bool { return strings.Contains(string(o), `"kind":"allow_always"`) }
	for _, o := range after.Params.Options {
		if !strings.Contains(string(o), `"optionId":"permd-width-`) {
			own = append(own, o)
		} else if !always(o) {
			t.Errorf("not an always: %s", o)
		}
	}
	if d := cmp.Diff(slices.DeleteFunc(slices.Clone(before.Params.Options), always), own); d != "" {
		t.Errorf("the agent's options are shown as (-want +got):\n%s", d)
	}
	shown = replaceMember(said, shown, "params", "options")
	shown = replaceMember(said, shown, "params", "toolCall", "content")
	shown = replaceMember(said, shown, "params", "subject", "toolCall", "content")
	return replaceMember(said, shown, "params", "description")
}

// replaceMember sets a member of shown to its value in said, without changing any other
// byte.
func replaceMember(said, shown string, path ...string) string {
	raw := func(line string) string {
		v := json.RawMessage(line)
		for _, name := range path {
			var o map[string]json.RawMessage
			_ = json.Unmarshal(v, &o)
			v = o[name]
		}
		return string(v)
	}
	name := `"` + path[len(path)-1] + `":`
	switch was, is := raw(said), raw(shown); {
	case is == "" || is == was:
		return shown
	case was == "":
		return strings.Replace(shown, ","+name+is, "", 1)
	default:
		return strings.Replace(shown, name+is, name+was, 1)
	}
}

// sameButOption compares answers of the client without their option.
func sameButOption(said, received string) bool {
	a, b := parsePair(said).Result.Outcome.OptionID, parsePair(received).Result.Outcome.OptionID
	return a != "" && b != "" && strings.Replace(said, `"optionId":"`+a+`"`, `"optionId":"`+b+`"`, 1) == received
}

// inOrder sorts the two notifications with which the Go SDK cancels a prompt: it sends
// them in any order.
func inOrder(lines []string) []string {
	for i := range len(lines) - 1 {
		if parsePair(lines[i]).Method == "$/cancel_request" && parsePair(lines[i+1]).Method == "session/cancel" {
			lines[i], lines[i+1] = lines[i+1], lines[i]
		}
	}
	return lines
}

// checkAgainst compares a conversation with permd with the same one without, byte
// for byte except for permd's answers.
func (h *received) checkAgainst(t *testing.T, without *received) {
	t.Helper()
	permd, modes := notReceived(h.agentSaid, h.clientHeard), notReceived(h.clientSaid, h.agentHeard)
	less := func(lines []string, drop func(pairMessage) bool) []string {
		return inOrder(slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return drop(parsePair(line)) }))
	}
	never := func(pairMessage) bool { return false }
	modeAnswer := func(w pairMessage) bool { return w.answers(modes) }
	answered := func(w pairMessage) bool {
		return w.answers(permd) || w.request() && slices.Contains(modes, string(w.ID))
	}
	if d := cmp.Diff(less(without.agentSaid, modeAnswer), h.agentSaid); d != "" {
		t.Errorf("the agent said (-without +with permd):\n%s", d)
	}
	if d := cmp.Diff(less(without.agentHeard, answered), less(h.agentHeard, answered)); d != "" {
		t.Errorf("the agent received (-without +with permd):\n%s", d)
	}
	passage(t, "what the client says without and with permd", less(without.clientSaid, func(w pairMessage) bool { return w.answers(permd) }), less(h.clientSaid, never),
		never, never, func(a, b string) bool { return sameButOption(b, a) })
}
