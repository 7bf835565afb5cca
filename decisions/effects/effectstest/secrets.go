package effectstest

import (
	_ "embed"
	"strings"
)

//go:embed secrets.txt
var secretCommands string

// SecretCommands returns commands that hold CANARY as a secret, one in each of the ways in
// which secrets are given to programs.
func SecretCommands() []string {
	var list []string
	for line := range strings.Lines(secretCommands) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}
