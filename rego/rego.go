// Package rego holds what permd ships as data: the base layer with its tests,
// the schema of the policy input, the program table and the agent profiles. It
// has no code but the embedding, so that everything in it can be read, tested
// and used with stock OPA as well.
package rego

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed base/*.rego programs/*.yaml profiles.yaml input.schema.json programs.schema.json profiles.schema.json
var files embed.FS

//go:embed programs.txt
var compactPrograms string

//go:embed denies.txt
var baseDenies string

// Base returns the files of the base layer, its tests included, by their path
// in this folder ("base/deny.rego"): the name under which rules are reported.
// The maps and slices are the caller's own.
func Base() map[string][]byte { return folder("base", "base/") }

// inProfiles names the profiles that a file of the base layer belongs to; those
// not here, and their tests, belong to all.
var inProfiles = map[string][]string{
	"base/careful.rego":    {"careful"},
	"base/balanced.rego":   {"balanced", "unattended"},
	"base/format.rego":     {"balanced", "unattended"},
	"base/own_data.rego":   {"balanced"},
	"base/unattended.rego": {"unattended"},
}

// InProfile reports whether a file of Base belongs to a profile: "careful",
// "balanced" or "unattended".
func InProfile(file, profile string) bool {
	in, ok := inProfiles[strings.TrimSuffix(strings.TrimSuffix(file, ".rego"), "_test")+".rego"]
	for _, p := range in {
		if p == profile {
			return true
		}
	}
	return !ok
}

// BaseDenies returns the ids of the denies of the base layer, sorted. They are in a file of
// their own, so that reading settings needs no parser of rules; a test compares it with the
// layer.
func BaseDenies() []string { return strings.Fields(baseDenies) }

// Programs returns the files of the program table by their name ("git.yaml").
func Programs() map[string][]byte { return folder("programs", "") }

// CompactPrograms returns all files of the program table in the form that
// decisions/effects/programs describes, which is quick to read. A test there writes it, and
// compares it with the files.
func CompactPrograms() string { return compactPrograms }

// Profiles returns the agent profiles, as YAML.
func Profiles() []byte { return file("profiles.yaml") }

// ProgramsSchema returns the JSON schema of the program table's files.
func ProgramsSchema() []byte { return file("programs.schema.json") }

// ProfilesSchema returns the JSON schema of files with profiles.
func ProfilesSchema() []byte { return file("profiles.schema.json") }

// InputSchema returns the JSON schema of the document that rules see as input.
func InputSchema() []byte { return file("input.schema.json") }

// folder returns the files of an embedded folder by prefix and name.
func folder(dir, prefix string) map[string][]byte {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		panic(err) // the embed directive names the folder, so it is there
	}
	out := make(map[string][]byte, len(entries))
	for _, e := range entries {
		out[prefix+e.Name()] = file(path.Join(dir, e.Name()))
	}
	return out
}

func file(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // as above
	}
	return data
}
