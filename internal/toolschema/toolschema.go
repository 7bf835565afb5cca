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

// Bounds of a schema and of arguments. Above them, nothing is checked.
const (
	MaxSchemaBytes   = 128 << 10
	maxArgumentBytes = 1 << 20
	maxSchemaValues  = 10_000  // values in a schema
	maxObjects       = 2_000   // values that may be schemas themselves
	maxSchemaDepth   = 64      // levels of nesting
	maxPointers      = 1 << 20 // bytes of the paths to all values
	maxReferences    = 256     // distinct references
	maxArguments     = 20_000  // values in the arguments
	maxNumber        = 300     // digits of a number
	maxExponent      = 324     // as a power of ten: enough for a float64, whose maximum many schemas name
	maxPairs         = 50_000  // of a schema and an argument
	maxWork          = 500_000 // steps
	maxChain         = 64      // schemas that apply to one argument through each other
	maxPattern       = 512     // bytes of a pattern
	maxProgram       = 4_000   // instructions of a pattern
	maxPrograms      = 40_000  // instructions of all patterns
)

// maxProblems is the number of problems reported.
const maxProblems = 8

// Problem is a violation of the schema. Its text repeats no value or name from the
// arguments, only text of the schema.
type Problem struct {
	// At is the position as a JSON pointer, "" for the arguments as a whole. Names that
	// are not in the schema are replaced by *.
	At   string `json:"at"`
	Text string `json:"text"`
}

// String returns the problem on one line.
func (p Problem) String() string {
	if p.At == "" {
		return p.Text
	}
	return p.At + ": " + p.Text
}

// uncheckedError means that a schema cannot be checked. Its text quotes nothing of the
// schema.
type uncheckedError struct {
	why string
}

// Error returns the reason.
func (e *uncheckedError) Error() string { return "checking the schema: " + e.why }

func uncheckedf(format string, args ...any) error {
	return &uncheckedError{fmt.Sprintf(format, args...)}
}

// Check returns at most maxProblems violations of the schema, none if the arguments are
// valid. An *uncheckedError means that it is not known whether they are. Both values
// must have passed strictjson.Check.
//
// For any input, it takes at most some tenths of a second.
func Check(schema, arguments strictjson.Value) ([]Problem, error) {
	return new(Cache).Check(schema, arguments)
}

// recoverPanic treats a panic as a schema that cannot be checked: a failure of the
// library must not end the request.
func recoverPanic(f func() ([]Problem, error)) (problems []Problem, err error) {
	defer func() {
		if recover() != nil {
			problems, err = nil, uncheckedf("it is not understood")
		}
	}()
	return f()
}

// check validates arguments against a compiled schema.
func check(compiled *jsonschema.Schema, arguments strictjson.Value) ([]Problem, error) {
	args, err := readArguments(arguments)
	if err != nil {
		return nil, err
	}
	w := estimator{memo: map[pair]*cost{}, names: map[string]bool{}, listedCost: map[*jsonschema.Schema]int{}}
	if _, err := w.estimate(compiled, args); err != nil {
		return nil, err
	}
	failed := compiled.Validate(args.value)
	if failed == nil {
		return nil, nil
	}
	found, ok := errors.AsType[*jsonschema.ValidationError](failed)
	if !ok {
		return nil, uncheckedf("it is not understood")
	}
	r := report{names: w.names, root: args, seen: map[Problem]bool{}, memberIndexes: map[*node]map[string]int{}}
	r.add(found)
	return r.sorted(), nil
}

// schemaURL is the URL of the schema. It is opaque, so relative references lead nowhere.
const schemaURL = "urn:permd:schema"

// compile compiles a schema without loading anything. programs approximates the bytes of
// its patterns.
func compile(doc any) (s *jsonschema.Schema, programs int, err error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	var p patterns
	c.UseRegexpEngine(p.compile)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, 0, uncheckedf("it is not understood")
	}
	s, err = c.Compile(schemaURL)
	switch {
	case p.failed != nil:
		return nil, 0, p.failed
	case err != nil:
		return nil, 0, uncheckedf("it is not a schema of a known draft")
	}
	return s, 128 * p.size, freeze(s)
}

// noLoader refuses to load other documents.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// Sentence joins problems on one line.
func Sentence(problems []Problem) string {
	parts := make([]string, len(problems))
	for i, p := range problems {
		parts[i] = p.String()
	}
	return strings.Join(parts, "; ")
}
