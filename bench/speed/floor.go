package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// What a repeated command makes the daemon ask the system for, besides reading the request
// and writing the answer: the line "acp bash repeated" of
// cmd/permd/internal/daemon/testdata/system_calls.txt.
const (
	floorLookups = 9   // lstat of folders from the root, and of what lies in them
	floorStats   = 2   // fstat of the journal's file
	floorRecord  = 700 // bytes of the journal's record, in one write
)

// floor echoes each line as echo does, after the system calls that the decision of a
// repeated command cannot do without: whether the folders, links and settings that it was
// decided by are still the same, and one write of its record. It reads nothing of the line.
// Whatever else a daemon does comes on top, so that a budget below this server cannot be held.
func floor(socket string) error {
	ln, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	record, err := os.OpenFile(socket+".records", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("making the file of records: %w", err)
	}
	paths := floorPaths(filepath.Join(filepath.Dir(socket), "home", "project"))
	var mu sync.Mutex
	var end int64
	text := make([]byte, floorRecord)
	return echoOn(ln, func([]byte) {
		for _, path := range paths {
			_, _ = os.Lstat(path) // what is missing is looked for too
		}
		mu.Lock()
		defer mu.Unlock()
		for range floorStats {
			_, _ = record.Stat()
		}
		n, _ := record.WriteAt(text, end%(1<<20))
		end += int64(n)
	})
}

// floorPaths returns the folders above a project, and names within it.
func floorPaths(project string) (paths []string) {
	for dir := project; len(paths) < floorLookups/2; dir = filepath.Dir(dir) {
		paths = append(paths, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	slices.Reverse(paths)
	for _, name := range []string{".git", ".git/HEAD", ".git/config", ".git/objects", ".git/refs", ".git/commondir", ".git/index", "src", "README.md"} {
		if len(paths) < floorLookups {
			paths = append(paths, filepath.Join(project, name))
		}
	}
	return paths
}
