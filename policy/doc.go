// Package policy finds rules, watches their files and keeps them up to date.
//
// Rules come from layers (org, user, project, base). A [Store] holds what was compiled
// last and was good (package rules); requests read one immutable snapshot of it through
// an atomic pointer and never wait for a file or a compiler.
package policy
