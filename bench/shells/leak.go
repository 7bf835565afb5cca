//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
)

// secretsIn returns the secrets that a text contains, except for one.
func secretsIn(text []byte, but string) []string {
	var found []string
	for p, secret := range secrets {
		if p != but && bytes.Contains(text, []byte(secret)) {
			found = append(found, p)
		}
	}
	return found
}

// printed returns the secrets that a text printed, however it named their files,
// and empties the output.
func (s *sandbox) printed() ([]string, error) {
	text, err := io.ReadAll(io.NewSectionReader(s.out, 0, maxFileSize))
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return secretsIn(text, ""), s.out.Truncate(0)
}

// holds returns the secrets of other files that are in a file which a text changed.
func (s *sandbox) holds(p string, st stamp) []string {
	if !st.mode.IsRegular() {
		return nil
	}
	text, err := os.ReadFile(p)
	if err != nil {
		return nil // a file that cannot be read spreads nothing
	}
	return secretsIn(text, s.known(p))
}
