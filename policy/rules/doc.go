// Package rules compiles the rules of a layer, tests them, and evaluates them.
//
// Each layer (org, user, project, base) has a compiler of its own, so that a broken file
// of one cannot hurt another, and nobody can define rules in another layer's package. A
// [Layer] is what was compiled; a [Snapshot] is the layers that hold for one person in
// one project. Both are immutable.
//
// What rules see is described by rego/input.schema.json and built by package input from
// typed facts, never from a client's JSON: a value of an unexpected type makes an OPA
// builtin undefined, and an undefined deny is an allow.
//
// The package also says which rules do something other than they seem to ([Advise]) and
// which almost fired ([Explainer]). It reads no files, and it does not decide: it reports
// the rules that fired. How they combine is the engine's table in package decisions.
package rules
