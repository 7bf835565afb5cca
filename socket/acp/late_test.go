package acp

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// TestLateAnswers: if the rules have changed since the question, only a reject is
// accepted, and no answer that lets the agent continue, switch its mode or have its
// question answered.
func TestLateAnswers(t *testing.T) {
	const options = `"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"a","name":"Always","kind":"allow_always"},{"optionId":"n","name":"No","kind":"reject_once"},{"optionId":"x","name":"Never","kind":"reject_always"}]`
	calls := map[string]string{
		"call": plainCall, "mode": `{"toolCallId":"c","kind":"switch_mode"}`, "question": `{"toolCallId":"c","title":"AskUserQuestion"}`,
	}
	for name, call := range calls {
		for choice, yes := range map[string]bool{
			`"optionId":"y"`: true, `"optionId":"a"`: true, `"optionId":"n"`: false, `"optionId":"x"`: false, `"verdict":"deny"`: false,
		} {
			t.Run(name+" "+choice, func(t *testing.T) {
				for _, changed := range []bool{false, true} {
					d, c := newDaemon(decisions.Ask), conn(1)
					digest := ""
					native.Register(d.methods, native.Deps{
						Sessions: d.sessions, Decider: d, Users: func(uint32) effects.User { return effects.User{} },
						Rules: func(uint32, string) string { return digest },
					})
					_, err := d.call(t, c, MethodRequestPermission, `{"sessionId":"s","toolCall":`+call+`,`+options+`}`)
					checkQuestion(t, err)
					if changed {
						digest = "others"
					}
					_, err = d.call(t, c, native.MethodChoose, `{"decisionId":"d1",`+choice+`}`)
					refused := code(err) == socket.CodeParams && strings.Contains(err.Error(), "the rules have changed")
					if refused != (yes && changed) || !refused && err != nil {
						t.Errorf("changed %v: %v", changed, err)
					}
				}
			})
		}
	}
}
