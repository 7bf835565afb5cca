// Package projection keeps results of evaluating rules, by what the rules can tell
// apart.
//
// Evaluating one effect takes some 200 allocations, and calls hardly ever repeat:
// git log -n 5 is not git log -n 6. But few rules look at the words of git. So a
// result is kept for all effects that have the same projection: what is left of an
// effect if everything is taken away that no rule can tell apart.
//
// The compiled rules of each layer are looked into once (NewLayer). A body is a list
// of steps: tests of one part of the input against constants, which Go can do as
// well; references to rules of the same layer that are true or not, which have bodies
// of their own; and what is not understood, of which only is known which parts of the
// input and which rules it can refer to. An effect is looked up in two stages:
//
//  1. The narrow parts (input.Narrow: kind, program, tags and some more) have few
//     values. Their exact values are the first key. For a new one the rules are
//     evaluated as far as these parts decide them (newShape). What remains is the
//     shape: rules with the tests that they still depend on, and with the parts
//     that they can read if those hold.
//  2. Which rules of the shape pass their tests, and the exact values of all that
//     these can read, are the second key. The result of an evaluation is kept under both.
//
// It is the result for every effect with the same keys because
//
//   - a rule is left out only if a test fails, or a reference to rules that are all
//     left out, and no step before it in the evaluator's order could have failed with
//     an error instead;
//   - all else that the remaining rules can read has its value in the key, which is
//     compared byte by byte. In doubt a rule reads more: a part of an object that is
//     not named by a constant reads the whole of it; a rule with "with" or one that reads
//     the whole input reads everything. Messages are part of the rule;
//   - results that depend on anything else are not kept: on the time (input.now), on JSON
//     of the client (a rule that reads it sees numbers and invalid JSON in its own
//     ways), on an evaluation that failed. Builtins that differ from call to call are not
//     allowed in policies (package builtins);
//   - no evaluation would have failed instead, because it takes too much: only short values
//     are tested (maxTestedBytes), and what all tests of a shape can allocate (maxShapeCost) and
//     what the kept evaluation allocated (maxBuilt) are within the limit of one evaluation.
//
// Cache bounds what is kept for one snapshot of rules in bytes. Each person and project
// has a snapshot of their own, so nobody evicts what is kept for others, and what is
// used is not evicted by what is only asked once.
//
// Of the 34,008 effects of the 5,173 calls in the corpus agent-calls 93 % were found,
// with 749 shapes; most of the others are reads outside of the project, and code in the
// words of sh, awk and python. A result that is found takes 0.3 µs and no allocation,
// one that is not 15 allocations (4 %) more than before, and loading 1,000 rules 12 ms
// more. A fresh request (TestAllocations in cmd/permd/internal/daemon) takes 84 instead
// of 352 allocations to read a file, and 170 instead of 964 for a pipeline.
package projection
