package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// profile takes a profile of an instrumented daemon's processors while one client sends
// the requests of a series, and writes it into a file.
func (w *world) profile(ctx context.Context, s *series, n *numbers, socket, path string, length time.Duration) error {
	conns, err := w.servers[s.Server].connections(1)
	if err != nil {
		return err
	}
	type taken struct {
		data []byte
		err  error
	}
	done := make(chan taken, 1)
	go func() {
		data, err := get(ctx, socket, fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", length.Seconds()))
		done <- taken{data, err}
	}()
	var t taken
	for ended := false; !ended; {
		if _, err := conns[0].drive(n.next(s), s.want, time.Now().Add(length/20), 1<<40, nil); err != nil {
			return err
		}
		select {
		case t = <-done:
			ended = true
		default:
		}
	}
	if t.err != nil {
		return fmt.Errorf("taking a profile: %w", t.err)
	}
	return os.WriteFile(path, t.data, 0o600)
}

// pprof runs Go's reader of profiles and returns what it prints.
func pprof(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"tool", "pprof", "-symbolize=none"}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("reading a profile: %w", err)
	}
	return string(out), nil
}

// runProfile profiles new and repeated commands: it prints the functions that take most,
// with what they call, and draws a flame graph of each into a folder.
func runProfile(ctx context.Context, o options, progress func(string)) error {
	if err := os.MkdirAll(o.profile, 0o755); err != nil {
		return fmt.Errorf("making the folder for profiles: %w", err)
	}
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	progress("building permd with instruments")
	program, err := w.buildInstrumented(ctx)
	if err != nil {
		return err
	}
	socket := filepath.Join(w.dir, "pprof.sock")
	if _, err := w.startPermd(ctx, serverPermd, program, configuration{connections: 1}, envSocket+"="+socket); err != nil {
		return err
	}
	p := &plan{world: w}
	var n numbers
	for _, repeated := range []bool{false, true} {
		p.add(serverPermd, o.kind, small, repeated, 1)
		s := p.all[len(p.all)-1]
		name := "fresh"
		if repeated {
			name = "repeated"
		}
		progress("profiling: " + o.kind + ", " + name)
		if _, err := w.turn(s, &n, time.Second); err != nil { // caches and heap
			return err
		}
		file := filepath.Join(o.profile, "permd-"+o.kind+"-"+name+".pprof")
		if err := w.profile(ctx, s, &n, socket, file, o.profileFor); err != nil {
			return err
		}
		top, err := pprof(ctx, "-top", "-cum", "-nodecount=60", file)
		if err != nil {
			return err
		}
		fmt.Printf("== %s, %s\n%s\n", o.kind, name, top)
		traces, err := pprof(ctx, "-traces", file)
		if err != nil {
			return err
		}
		title := fmt.Sprintf("Processor time of a %s command in the daemon", map[bool]string{false: "new", true: "repeated"}[repeated])
		picture := strings.TrimSuffix(file, ".pprof") + ".svg"
		if o.write {
			picture = filepath.Join(docsPlots, filepath.Base(picture))
		}
		if err := os.WriteFile(picture, drawFlames(title, foldTraces(traces)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
