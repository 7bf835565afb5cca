//go:build linux

package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// leaks says which secrets stand in what a text printed or in a file that it
// changed, whatever names they went through, and empties the output.
func (s *sandbox) leaks() ([]string, error) {
	var found []string
	look := func(text []byte, but string) {
		for p, secret := range secrets {
			if p != but && !slices.Contains(found, p) && strings.Contains(string(text), secret) {
				found = append(found, p)
			}
		}
	}
	text, err := io.ReadAll(io.NewSectionReader(s.out, 0, maxFileSize))
	if err != nil {
		return nil, err
	}
	look(text, "")
	if len(text) > 0 {
		if err := s.out.Truncate(0); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{s.root + home, s.root + "/tmp"} {
		err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil // a folder without rights holds nothing that can be read
			}
			info, err := e.Info()
			if err != nil {
				return nil // it is gone
			}
			if was, ok := s.clean[p]; ok && was.size == info.Size() && was.at.Equal(info.ModTime()) {
				return nil
			}
			text, err := os.ReadFile(p)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			look(text, s.known(p))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return found, nil
}
