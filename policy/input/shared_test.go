package input

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestSharedTerms builds the input of each effect of a call: the common part is one
// term, and no effect has values of another.
func TestSharedTerms(t *testing.T) {
	call := &effects.Call{
		Input: []byte(`{"command":"cp a b; cp c d"}`), User: effects.User{Name: "ada", Groups: []string{"g"}},
	}
	first, second := &effects.Run{Program: "cp", Args: []string{"a", "b"}}, &effects.Run{Program: "cp", Args: []string{"c", "d"}}
	all := []effects.Effect{
		{Kind: effects.KindRun, Run: first},
		{Kind: effects.KindRead, File: &effects.File{Path: "/a"}, Via: &effects.Via{Effect: 0, Arg: 0}},
		{Kind: effects.KindWrite, File: &effects.File{Path: "/b"}, Via: &effects.Via{Effect: 0, Arg: 1}},
		{Kind: effects.KindRun, Run: second},
		{Kind: effects.KindRead, File: &effects.File{Path: "/c"}, Via: &effects.Via{Effect: 3, Arg: 0}},
	}
	in := &decisions.Input{All: all, Call: call, Result: &effects.Result{Effects: all}, Session: decisions.SessionRef{ID: "s"}}
	args := make([]*ast.Term, len(all))
	var shares []*ast.Term
	for i := range all {
		in.Effect = &all[i]
		doc := Build(in, AllParts).Value.(ast.Object)

		alone := *in
		alone.Scratch = nil
		if fresh := Build(&alone, AllParts); fresh.Value.Compare(doc) != 0 {
			t.Errorf("effect %d: %v, by itself %v", i, doc, fresh)
		}
		for n, name := range []string{"session", "user", "project", "call"} {
			term := doc.Get(ast.StringTerm(name))
			if i == 0 {
				shares = append(shares, term)
			} else if term != shares[n] {
				t.Errorf("effect %d: %s was made anew", i, name)
			}
		}
		effect := doc.Get(keyEffect).Value.(ast.Object)
		if by := effect.Get(keyBy); by != nil {
			effect = by.Value.(ast.Object)
		}
		args[i] = effect.Get(keyArgs)
	}
	if args[1] != args[0] || args[2] != args[0] || args[4] != args[3] || args[0] == args[3] {
		t.Errorf("the words of a run were made anew, or are another's: %v", args)
	}

	// Another call in the same input is another call.
	other := *call
	other.User.Name = "eve"
	in.Call, in.Trusted = &other, true
	doc := Build(in, AllParts)
	alone := *in
	alone.Scratch = nil
	if fresh := Build(&alone, AllParts); fresh.Value.Compare(doc.Value) != 0 {
		t.Errorf("another call: %v, want %v", doc, fresh)
	}
}
