package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// state is what came of each target in all runs with the same file: a run that was ended goes
// on where it was. Shards have a file each.
type state struct {
	path    string
	Targets map[string]*recorded `json:"targets"`
}

// recorded is what came of a target in all runs.
type recorded struct {
	Executions int64   `json:"executions"`
	CPUSeconds float64 `json:"cpuSeconds"`
	Inputs     int     `json:"inputs"`
	Failures   int     `json:"failures"`
	// Commit is that of the last run, and Day its date.
	Commit string `json:"commit"`
	Day    string `json:"day"`
}

// readState reads a file; one that does not exist has no targets.
func readState(path string) (*state, error) {
	s := &state{path: path, Targets: map[string]*recorded{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err == nil && s.Targets == nil {
		err = errors.New("it has no targets")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of former runs from %s: %w", path, err)
	}
	return s, nil
}

// write puts the file in place at once, so that a run that is ended meanwhile leaves a whole one.
func (s *state) write() error {
	text, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// left is how much of a target's time is left.
func (s *state) left(t target, each time.Duration) time.Duration {
	if r := s.Targets[t.String()]; r != nil {
		return each - time.Duration(r.CPUSeconds*float64(time.Second))
	}
	return each
}

// add adds what came of a part of a target's time.
func (s *state) add(t target, res *result, commit string, now time.Time) {
	r := s.Targets[t.String()]
	if r == nil {
		r = &recorded{}
		s.Targets[t.String()] = r
	}
	r.Executions += res.Executions
	r.CPUSeconds += res.CPUSeconds
	r.Inputs = max(r.Inputs, res.Inputs)
	if res.Failed {
		r.Failures++
	}
	r.Commit, r.Day = commit, now.UTC().Format(time.DateOnly)
}

// commitOf returns the commit of a repository, "" if it is none.
func commitOf(ctx context.Context, root string) string {
	cmd := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// shard is one of several parts of the targets: 2/4 are the second, the sixth and so on.
type shard struct{ i, of int }

func (s *shard) String() string { return fmt.Sprintf("%d/%d", s.i, s.of) }

func (s *shard) Set(text string) error {
	i, of, ok := strings.Cut(text, "/")
	var err1, err2 error
	s.i, err1 = strconv.Atoi(i)
	s.of, err2 = strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || s.i < 1 || s.i > s.of {
		return errors.New("write 1/4 for the first of four parts")
	}
	return nil
}

// has reports whether a target, by its index among the chosen ones, is of the part.
func (s *shard) has(index int) bool { return index%s.of == s.i-1 }
