// Package docs holds permd's documentation, and tests that hold the documents
// to the program: the tables of policy.md are compared with the schema and the
// matcher, its examples with what the engine really makes of them, its recipes
// are compiled, tested and tried on calls, the conversations of protocol.md are
// held with a permd that is served, its tables are compared with
// protocol.schema.json, and every link and every command of the documents has
// to exist. Real answers are compared with the schema by cmd/permd's tests.
//
// It has no code of its own.
package docs
