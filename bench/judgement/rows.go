package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/permd/permd/internal/strictjson"
)

// readRows reads a corpus of one object a line. A file that does not exist has no
// rows, since not everybody has all corpora.
func readRows[T any](dir, name string) ([]T, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a corpus: %w", err)
	}
	var rows []T
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var row T
		if err := strictjson.Unmarshal(line, &row); err != nil {
			return nil, fmt.Errorf("reading %s:%d: %w", name, i+1, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// each runs f for 0 to n-1, on all processors, and returns the first error.
func each(n int, f func(i int) error) error {
	var wg sync.WaitGroup
	next := make(chan int)
	errs := make([]error, n)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				errs[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

// text returns the JSON of a string.
func text(s string) string {
	b, err := marshal(s)
	if err != nil {
		return `""` // every text of the corpora is UTF-8
	}
	return string(b)
}
