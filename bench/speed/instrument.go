package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// An instrumented build of permd says what no user needs: its profile, its allocations,
// and what it costs without its journal. Go's build takes the files below on top of the
// source, which has no trace of them. Times are measured with the ordinary build, but for
// the one without a journal.

// Environment variables of the instrumented build.
const (
	envSocket  = "PERMD_SPEED_SOCKET"  // where it serves its profile
	envJournal = "PERMD_SPEED_JOURNAL" // "off": records are dropped
)

const instrumentMain = `package main

import (
	"encoding/json"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
)

func init() {
	path := os.Getenv("` + envSocket + `")
	if path == "" {
		return
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/memory", func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_ = json.NewEncoder(w).Encode(m)
	})
	go http.Serve(ln, nil)
}
`

const instrumentJournal = `package journal

import "os"

var speedOff = os.Getenv("` + envJournal + `") == "off"
`

// journalAppend is the line of decisions/journal after which records are dropped.
const journalAppend = "func (j *Journal) Append(ctx context.Context, recs ...*decisions.Record) error {\n"

// overlay writes the files of the instrumented build into a folder, and the file that
// tells Go's build of them, whose path it returns.
func overlay(root, dir string) (string, error) {
	journal := filepath.Join(root, "decisions", "journal", "journal.go")
	text, err := os.ReadFile(journal)
	if err != nil {
		return "", err
	}
	dropping := bytes.Replace(text, []byte(journalAppend), []byte(journalAppend+"\tif speedOff {\n\t\treturn nil\n\t}\n"), 1)
	if bytes.Equal(dropping, text) {
		return "", fmt.Errorf("%s has no line %q", journal, journalAppend)
	}
	replace := map[string]string{}
	for path, text := range map[string]string{
		journal: string(dropping),
		filepath.Join(root, "decisions", "journal", "speed_off.go"): instrumentJournal,
		filepath.Join(root, "cmd", "permd", "speed_instrument.go"):  instrumentMain,
	} {
		replace[path] = filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		if err := write(replace[path], text); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, write(path, string(list))
}

// moduleRoot is the folder of the source.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the source: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// buildInstrumented builds permd with the instruments.
func (w *world) buildInstrumented(ctx context.Context) (string, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	list, err := overlay(root, filepath.Join(w.dir, "overlay"))
	if err != nil {
		return "", fmt.Errorf("making an instrumented build: %w", err)
	}
	program := filepath.Join(w.dir, "bin", "permd-instrumented")
	return program, buildPermd(ctx, program, "-overlay", list)
}

// get asks a server over HTTP on a Unix socket.
func get(ctx context.Context, socket, path string) ([]byte, error) {
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, answer.Status)
	}
	return body, err
}
