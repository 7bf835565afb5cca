package main

import (
	"maps"
	"slices"
)

// sixty are the programs of the table that agents use most: a fixed list, counted
// in agents' calls in September 2026.
var sixty = []string{
	"git", "head", "grep", "echo", "tail", "cat", "go", "gh", "sed", "ls", "curl", "python3", "find", "wc", "rg", "node", "bun", "sort", "pnpm", "rm", "npx", "rtk",
	"npm", "mise", "jq", "gofmt", "awk", "golangci-lint", "mkdir", "sleep", "python", "printf", "ps", "flutter", "dart", "make", "xargs", "[", "eslint", "cp",
	"markdownlint-cli2", "mv", "tsc", "which", "basename", "pwd", "bash", "cut", "kill", "nix", "chmod", "lsof", "diff", "jest", "test", "nl", "sqlite3", "tr",
	"tmux", "uniq",
}

// fast are the programs that .ci/run tries. Nearly every machine has them.
var fast = []string{
	"git", "grep", "sed", "find", "go", "gofmt", "npm", "node", "python3", "cat", "head", "tail", "ls", "sort", "wc", "cut", "tr", "uniq", "diff", "stat", "bash", "awk",
	"curl", "make", "[", "test", "basename", "which", "jq", "file",
}

// names returns all programs of the table, those that agents use most first.
func (t *table) names() []string {
	all := slices.Clone(sixty)
	for _, name := range slices.Sorted(maps.Keys(t.programs)) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
