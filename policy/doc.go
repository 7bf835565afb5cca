// Package policy finds, checks, compiles, tests, watches and evaluates rules.
//
// Rules come from layers (org, user, project, base). Each layer has a compiler
// of its own, so that a broken file of one cannot hurt another, and nobody can
// define rules in another layer's package. A [Store] holds what was compiled
// last and was good; requests read one immutable snapshot of it through an
// atomic pointer and never wait for a file or a compiler.
//
// What rules see is described by rego/input.schema.json and built here from
// typed facts, never from a client's JSON: a value of an unexpected type makes
// an OPA builtin undefined, and an undefined deny is an allow.
//
// The package does not decide: it reports the rules that fired. How they
// combine is the engine's table in package decisions.
package policy
