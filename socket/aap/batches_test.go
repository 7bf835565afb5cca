package aap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestBatchesAreBounded: the oldest batches are dropped.
func TestBatchesAreBounded(t *testing.T) {
	d, _ := newTurn(t)
	for range maxBatches {
		d.must(t, MethodPermissions, theTurnParams(""))
	}
	d.Refused(t, MethodAnswer, `{"sessionId":"s","batchId":"b1"}`, "no batch")
	d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b2"}`)

	d = newDaemon(t)
	d.verdicts["mine"] = decisions.Allow
	big := strings.Repeat("x", 3<<20)
	for i := range 4 {
		d.must(t, MethodPermissions, theTurn+`,`+turnOf("a mine 1", "b mine 2", "c mine 3")+`}`)
		d.must(t, MethodAnswer, fmt.Sprintf(`{"sessionId":"s","batchId":"b%d","results":[{"toolCallId":"a","content":"%s"}]}`, i+1, big))
	}
	s := batchesOf(d.Conn)
	if len(s.list) != 2 || s.size > maxBatchBytes {
		t.Errorf("%d batches, %d bytes are kept", len(s.list), s.size)
	}
	d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b4","results":[{"toolCallId":"b","content":"`+big+`"}]}`)
	d.Refused(t, MethodAnswer, `{"sessionId":"s","batchId":"b4","results":[{"toolCallId":"c","content":"`+big+`"}]}`, "larger than")
	if len(s.list) != 1 || s.size > maxBatchBytes {
		t.Errorf("%d batches, %d bytes are kept", len(s.list), s.size)
	}
	huge := `{"role":"assistant","content":[{"type":"tool_use","toolCallId":"x","name":"t","input":{"x":"` + strings.Repeat("x", maxBatchBytes) + `"}}]}`
	d.Refused(t, MethodPermissions, theTurn+`,"history":[`+huge+`]}`, "larger than")
}

// TestDecisionsAreBounded: the size of decisions counts too. The newest batch
// stays, whatever its size.
func TestDecisionsAreBounded(t *testing.T) {
	d := newDaemon(t)
	for range 4 << 10 {
		d.effects = append(d.effects, decisions.EffectDecision{Kind: "read", Text: "read " + strings.Repeat("x", 512)})
	}
	for range 8 {
		d.must(t, MethodPermissions, theTurn+`,`+turnOf("a mine 1")+`}`)
	}
	s := batchesOf(d.Conn)
	if len(s.list) != 2 || s.size > maxBatchBytes {
		t.Errorf("%d batches, %d bytes are kept", len(s.list), s.size)
	}
	d.must(t, MethodPermissions, theTurn+`,`+turnOf("a mine 1", "b mine 2", "c mine 3")+`}`)
	if len(s.list) != 1 || s.list[0].id != "b9" {
		t.Errorf("%d batches are kept", len(s.list))
	}
	d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b9","answers":[{"toolCallId":"a","verdict":"allow"},
		{"toolCallId":"b","verdict":"deny"},{"toolCallId":"c","verdict":"deny"}],"results":[{"toolCallId":"a","content":"done"}]}`)
	for _, e := range s.list[0].entries {
		if e.decision.Offer != nil {
			t.Error("an answered question is held on to")
		}
	}
	d.Must(t, "permd/close", `{"sessionId":"s"}`)
	if len(s.list) != 0 || s.size != 0 {
		t.Errorf("%d batches, %d bytes are kept", len(s.list), s.size)
	}
}
