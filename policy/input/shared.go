package input

import (
	"bytes"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// shared holds terms of a call that are the same for all its effects and all
// layers, so that each is made once. A call can have as many effects as its
// command has words, so converting the words again for each would take
// quadratic time.
type shared struct {
	callOf   *effects.Call
	resultOf *effects.Result
	trusted  bool

	session, project, user *ast.Term
	calls                  [4]*ast.Term // see callAt

	summed bool // kinds and tags are set
	kinds  []string
	tags   effects.Tags

	stripped bool             // plain is set
	plain    []effects.Effect // see withoutOverlay

	words []runWords
	raws  []rawTerm
}

// runWords holds the arguments of a run as a term.
type runWords struct {
	run  *effects.Run
	args *ast.Term
}

// sharedOf returns the terms made so far for a call.
func sharedOf(in *decisions.Input) *shared {
	t, ok := in.Scratch.(*shared)
	if !ok || t.callOf != in.Call || t.resultOf != in.Result || t.trusted != in.Trusted {
		t = &shared{callOf: in.Call, resultOf: in.Result, trusted: in.Trusted}
		in.Scratch = t
	}
	return t
}

func (t *shared) once(at **ast.Term, build func() *ast.Term) *ast.Term {
	if *at == nil {
		*at = build()
	}
	return *at
}

// callAt returns where the member about the call is kept, with its raw input and with the
// members that few rules read, or without.
func (t *shared) callAt(raw, claims bool) **ast.Term {
	i := 0
	if raw {
		i |= 1
	}
	if claims {
		i |= 2
	}
	return &t.calls[i]
}

// kindsAndTags returns those of all effects of a call.
func (t *shared) kindsAndTags(all []effects.Effect) ([]string, effects.Tags) {
	if !t.summed {
		t.summed = true
		t.kinds = kindsOf(all)
		for i := range all {
			t.tags |= all[i].Tags
		}
	}
	return t.kinds, t.tags
}

// args returns the arguments of a run of the call.
func (t *shared) args(r *effects.Run) *ast.Term {
	// Newest first: effects follow their run.
	for i := len(t.words) - 1; i >= 0; i-- {
		if t.words[i].run == r {
			return t.words[i].args
		}
	}
	args := strs(keyArgs, r.Args)[1]
	t.words = append(t.words, runWords{r, args})
	return args
}

// rawTerm returns a raw JSON value of the call as a term. It does not use
// ast.LazyObject: a builtin that needs the whole object (json.marshal) gets its
// Go values unconverted, and prints something other than rules see.
type rawTerm struct {
	data []byte
	term *ast.Term
}

// raw returns a raw value as a term, null for none. Invalid JSON panics, which
// becomes an error of the evaluation: a silently missing member would make a
// deny undefined.
func (t *shared) raw(data []byte) *ast.Term {
	if len(data) == 0 {
		return nil
	}
	for _, r := range t.raws {
		if &r.data[0] == &data[0] && len(r.data) == len(data) {
			return r.term
		}
	}
	v, err := ast.ValueFromReader(bytes.NewReader(data))
	if err != nil {
		panic("the tool's input is no JSON")
	}
	term := ast.NewTerm(v)
	t.raws = append(t.raws, rawTerm{data, term})
	return term
}
