package query

import (
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/policy/source"
)

// TestEval: decisions see their input, the data and, if that is allowed, what the runtime is;
// everything that no rule may do is an error.
func TestEval(t *testing.T) {
	runtime, err := ast.InterfaceToValue(map[string]any{"config": map[string]any{"labels": map[string]string{"id": "m"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rego    string
		o       Options
		want    string // the value, or a part of the error
		wantErr bool
	}{
		{"package a\nx := input.n + 1", Options{}, "8", false},
		{"package a\nx := data.b.c", Options{Data: map[string]any{"b": map[string]any{"c": "d"}}}, `"d"`, false},
		{"package a\ny := 1", Options{}, "undefined", false},
		{"package a\nx := opa.runtime().config.labels.id", Options{Runtime: true}, `"m"`, false},
		{"package a\nx := opa.runtime().env", Options{Runtime: true}, "undefined", false},
		{"package a\nx := opa.runtime()", Options{}, "undefined function opa.runtime", true},
		{"package a\nx := time.now_ns()", Options{Runtime: true}, "undefined function time.now_ns", true},
		{"package a\nx := http.send({})", Options{Runtime: true}, "undefined function http.send", true},
		{"package a\nx := 1", Options{Data: map[string]any{"a": map[string]any{"x": 2}}}, "conflict", true},
		{"package a\nx := 1 / 0", Options{}, "divide by zero", true},
		{"package a\nx := ", Options{}, "reading: ", true},
		{"package a\nx := 1", Options{Decisions: []string{"a//x"}}, "no path of a decision", true},
		{"package a\nx := count([1 | some p in l; some q in l; some r in l; some s in l; p == q; r == s])\nl := split(sprintf(\"%4000d\", [0]), \" \")", Options{}, "took longer than 250 ms, or too much memory", true},
	} {
		if tt.o.Decisions == nil {
			tt.o.Decisions = []string{"/a/x"}
		}
		p, err := Compile([]source.File{{Name: "a.rego", Rel: "a.rego", Data: []byte(tt.rego)}, {Name: "a_test.rego", Rel: "a_test.rego", Data: []byte("package a\nx := 9")}}, tt.o)
		got := "undefined"
		if err == nil {
			var v ast.Value
			v, err = p.Eval(t.Context(), 0, Input{Document: ast.MustParseTerm(`{"n": 7}`), Runtime: ast.NewTerm(runtime), Time: time.Now()})
			if v != nil {
				got = v.String()
			}
		}
		if err != nil {
			got = err.Error()
		}
		if (err != nil) != tt.wantErr || !strings.Contains(got, tt.want) || !tt.wantErr && got != tt.want {
			t.Errorf("%s: %s, want %s", tt.rego, got, tt.want)
		}
	}
}

// TestCompileNothing: without rules and data there is no policy; data alone is one.
func TestCompileNothing(t *testing.T) {
	blank := []source.File{{Name: "a.rego", Rel: "a.rego", Data: []byte("# nothing\n")}}
	if p, err := Compile(blank, Options{Decisions: []string{"a"}}); p != nil || err != nil {
		t.Error(p, err)
	}
	p, err := Compile(blank, Options{Decisions: []string{"a"}, Data: map[string]any{"a": []any{1}}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := p.Eval(t.Context(), 0, Input{}); err != nil || v.String() != "[1]" {
		t.Error(v, err)
	}
}
