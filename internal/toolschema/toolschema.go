// Package toolschema checks the arguments of a tool against the JSON Schema that
// the tool's server gives for them. Protocols whose callers send both use it to
// refuse a call that the tool could not take, before a person is asked about it.
//
// It says nothing about whether a call may run: arguments that fit are allowed
// nothing, and a schema that cannot be checked (see uncheckedError) is a reason to ask
// a person, never to go on. A schema is written by whoever wrote the tool, so it
// is hostile until shown otherwise: no reference leaves it, nothing is loaded, and
// size, depth and work are bounded before the library sees it.
//
// The keyword format is not asserted, as in the newer drafts; the tool checks its
// own input all the same.
package toolschema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/permd/permd/internal/strictjson"
)

// Bounds of a schema and of the arguments. Over them nothing is checked.
const (
	MaxSchemaBytes   = 128 << 10
	maxArgumentBytes = 1 << 20
	maxSchemaValues  = 10_000  // of JSON, scalars included
	maxObjects       = 2_000   // that may be schemas of their own
	maxSchemaDepth   = 64      // of nesting
	maxPointers      = 1 << 20 // bytes of the paths to all values together
	maxReferences    = 256     // different ones
	maxArguments     = 20_000  // values of JSON
	maxNumber        = 300     // digits of a number
	maxExponent      = 324     // of ten: all that fit a float64, whose largest schemas like to name
	maxPairs         = 50_000  // of a schema and an argument
	maxWork          = 500_000 // steps
	maxChain         = 64      // schemas that one argument goes through, each in the other
	maxPattern       = 512     // bytes
	maxProgram       = 4_000   // instructions of a pattern
	maxPrograms      = 40_000  // of all patterns together
)

// maxProblems is how many problems are named.
const maxProblems = 8

// Problem is one thing that is wrong with the arguments. It repeats no value and
// no name of them, only what the schema says.
type Problem struct {
	// At is where, as a JSON pointer; "" for the arguments as a whole. A name that
	// the schema does not have is a *.
	At   string `json:"at"`
	Text string `json:"text"`
}

// String is the problem in one line.
func (p Problem) String() string {
	if p.At == "" {
		return p.Text
	}
	return p.At + ": " + p.Text
}

// uncheckedError is the error for a schema that cannot be checked. Its text
// quotes nothing of the schema.
type uncheckedError struct {
	why string
}

// Error says why.
func (e *uncheckedError) Error() string { return "checking the schema: " + e.why }

func unchecked(format string, args ...any) error {
	return &uncheckedError{fmt.Sprintf(format, args...)}
}

// Check returns the violations of the schema by the arguments, at most
// maxProblems and none if they are valid. An *uncheckedError means that
// validity is unknown. Both values must have passed strictjson.Check.
//
// It takes at most some tenths of a second for any input.
func Check(schema, arguments strictjson.Value) ([]Problem, error) {
	return new(Cache).Check(schema, arguments)
}

// recoverPanic takes a panic for a schema that is not understood: what the library
// cannot take is no reason to end the request.
func recoverPanic(f func() ([]Problem, error)) (problems []Problem, err error) {
	defer func() {
		if recover() != nil {
			problems, err = nil, unchecked("it is not understood")
		}
	}()
	return f()
}

// check puts a compiled schema to arguments.
func check(compiled *jsonschema.Schema, arguments strictjson.Value) ([]Problem, error) {
	args, err := readArguments(arguments)
	if err != nil {
		return nil, err
	}
	w := work{memo: map[pair]*weight{}, names: map[string]bool{}, wanted: map[*jsonschema.Schema]int{}}
	if _, err := w.weigh(compiled, args); err != nil {
		return nil, err
	}
	failed := compiled.Validate(args.value)
	if failed == nil {
		return nil, nil
	}
	found, ok := errors.AsType[*jsonschema.ValidationError](failed)
	if !ok {
		return nil, unchecked("it is not understood")
	}
	r := report{names: w.names, root: args, seen: map[Problem]bool{}, places: map[*node]map[string]int{}}
	r.add(found)
	return r.sorted(), nil
}

// location is what the schema is called. It has no folder, so that no relative
// reference leads to a file.
const location = "urn:permd:schema"

// compile makes the document a schema, in which nothing is loaded. programs is about
// how many bytes its patterns take.
func compile(doc any) (s *jsonschema.Schema, programs int, err error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	var p patterns
	c.UseRegexpEngine(p.compile)
	if err := c.AddResource(location, doc); err != nil {
		return nil, 0, unchecked("it is not understood")
	}
	s, err = c.Compile(location)
	switch {
	case p.failed != nil:
		return nil, 0, p.failed
	case err != nil:
		return nil, 0, unchecked("it is not a schema of a known draft")
	}
	return s, 128 * p.size, freeze(s)
}

// noLoader loads nothing.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// Sentence puts problems into one line.
func Sentence(problems []Problem) string {
	parts := make([]string, len(problems))
	for i, p := range problems {
		parts[i] = p.String()
	}
	return strings.Join(parts, "; ")
}
