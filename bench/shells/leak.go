//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
)

// secretsIn are the secrets that stand in a text, but for one.
func secretsIn(text []byte, but string) []string {
	var found []string
	for p, secret := range secrets {
		if p != but && bytes.Contains(text, []byte(secret)) {
			found = append(found, p)
		}
	}
	return found
}

// printed says which secrets a text printed, whatever names they went through,
// and empties the output.
func (s *sandbox) printed() ([]string, error) {
	text, err := io.ReadAll(io.NewSectionReader(s.out, 0, maxFileSize))
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return secretsIn(text, ""), s.out.Truncate(0)
}

// holds says which secrets of others stand in a file that a text changed.
func (s *sandbox) holds(p string, st stamp) []string {
	if !st.mode.IsRegular() {
		return nil
	}
	text, err := os.ReadFile(p)
	if err != nil {
		return nil // what cannot be read is not spread
	}
	return secretsIn(text, s.known(p))
}
