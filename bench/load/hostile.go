package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Budgets of what hostile clients may bring about.
const (
	smallBudget   = 250 * time.Millisecond // 99 of 100 requests of a small client while hogs run
	sessionBudget = 500 * time.Millisecond // a new connection with a session and its first request
	hostileBudget = 256                    // peak of the daemon's memory, in MiB
)

// hostile are clients that use as much as they can, each with a daemon of its own.
var hostile = map[string]func(ctx context.Context, d *daemon) error{
	"hogs":        hogs,
	"message":     oneConnection,
	"connections": manyConnections,
}

// runHostile runs the named clients, all for "all", and reports.
func runHostile(ctx context.Context, o options) error {
	names := []string{o.hostile}
	if o.hostile == "all" {
		names = []string{"hogs", "message", "connections"}
	}
	var all error
	for _, name := range names {
		run, ok := hostile[name]
		if !ok {
			return fmt.Errorf("there are no hostile clients %q", name)
		}
		d, err := startDaemon(ctx, o)
		if err != nil {
			return err
		}
		length := o.duration
		ctx, cancel := context.WithTimeout(ctx, length)
		err = run(ctx, d)
		cancel()
		if err == nil {
			err = answersWithin(d)
		}
		m, merr := d.memory()
		fmt.Printf("%s: peak memory %.0f MiB, %v of a processor in %v\n", name, m.HWM, d.processorTime(), length)
		if m.HWM > hostileBudget {
			err = errors.Join(err, fmt.Errorf("the peak is above %d MiB", hostileBudget))
		}
		if err = errors.Join(err, merr); err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", name, err))
		}
		d.end()
	}
	return all
}

// processorTime returns how much time of processors the daemon has used.
func (d *daemon) processorTime() time.Duration {
	var all time.Duration
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", d.cmd.Process.Pid))
	for _, task := range tasks {
		if text, err := os.ReadFile(task); err == nil {
			var ran int64
			if _, err := fmt.Sscan(string(text), &ran); err == nil {
				all += time.Duration(ran)
			}
		}
	}
	return all.Round(10 * time.Millisecond)
}

// small is a client that makes one small request at a time.
type small struct {
	conn  net.Conn
	lines *bufio.Reader
	id    int
}

func (d *daemon) dial() (*small, error) {
	conn, err := net.Dial("unix", d.socket())
	if err != nil {
		return nil, err
	}
	return &small{conn: conn, lines: bufio.NewReaderSize(conn, 64<<10)}, nil
}

func (s *small) call(method string, params any, result any) error {
	s.id++
	if err := s.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := io.WriteString(s.conn, message(s.id, method, params)); err != nil {
		return err
	}
	line, err := s.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	var got struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(line, &got); err != nil {
		return err
	}
	if got.Error != nil {
		return fmt.Errorf("%s: error %d, %s", method, got.Error.Code, got.Error.Message)
	}
	return json.Unmarshal(got.Result, result)
}

func (s *small) declare(d *daemon, session string) error {
	var hello struct{}
	return s.call("permd/session", map[string]any{
		"sessionId": session, "cwd": d.project,
		"agent": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"}, "client": map[string]string{"name": "soak", "version": "1"},
	}, &hello)
}

func bash(session string, commands ...string) map[string]any {
	var calls []any
	for n, command := range commands {
		calls = append(calls, map[string]any{
			"callId": fmt.Sprint("c", n), "tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": command},
		})
	}
	return map[string]any{"sessionId": session, "calls": calls}
}

// gitStatus asks for a command that is allowed.
func (s *small) gitStatus(session string) error {
	var got struct {
		Decisions []struct {
			Verdict string `json:"verdict"`
			Reason  string `json:"reason"`
		} `json:"decisions"`
	}
	if err := s.call("permd/decide", bash(session, "git status"), &got); err != nil {
		return err
	}
	if len(got.Decisions) != 1 || got.Decisions[0].Verdict != "allow" {
		return fmt.Errorf("git status: %+v", got.Decisions)
	}
	return nil
}

// newSession returns how long a new client takes to connect, to declare a session and to
// have its first answer.
func (d *daemon) newSession() (time.Duration, error) {
	start := time.Now()
	s, err := d.dial()
	if err != nil {
		return 0, err
	}
	defer s.conn.Close()
	if err := s.declare(d, "new"); err != nil {
		return 0, err
	}
	err = s.gitStatus("new")
	return time.Since(start), err
}

// answersWithin tries whether the daemon serves a new client within the budget.
func answersWithin(d *daemon) error {
	took, err := d.newSession()
	if err == nil && took > sessionBudget {
		err = fmt.Errorf("a new session took %v, more than %v", took, sessionBudget)
	}
	return err
}

// hog keeps as many requests of as many calls in flight as it can, until ctx ends.
func hog(ctx context.Context, d *daemon, number int, answers, refused *atomic.Int64) error {
	s, err := d.dial()
	if err != nil {
		return err
	}
	defer s.conn.Close()
	session := fmt.Sprint("hog", number)
	if err := s.declare(d, session); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { s.conn.Close() })()
	go func() {
		for id := 2; ; id++ {
			commands := make([]string, 64)
			for n := range commands {
				var b strings.Builder
				for i := range 40 {
					fmt.Fprintf(&b, "grep -n 'x%d' pkg%d/file%d.go | sort; ", id*n+i, i, number*1_000_000+id*64+n)
				}
				commands[n] = b.String()
			}
			if _, err := io.WriteString(s.conn, message(id, "permd/decide", bash(session, commands...))); err != nil {
				return
			}
		}
	}()
	if err := s.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	for {
		start, err := s.lines.ReadSlice('\n')
		if bytes.Contains(start, []byte(`"error":{"code":-32051`)) {
			if refused.Add(1) == 1 {
				fmt.Printf("hogs: the first refusal: %.300s\n", start)
			}
		}
		if err == nil {
			answers.Add(1)
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// alone measures a small client before there are others: other programs on the machine
// take their time, too.
func alone(d *daemon) error {
	s, err := d.dial()
	if err != nil {
		return err
	}
	defer s.conn.Close()
	if err := s.declare(d, "alone"); err != nil {
		return err
	}
	var requests, sessions []time.Duration
	for n := range 100 {
		start := time.Now()
		if err := s.gitStatus("alone"); err != nil {
			return err
		}
		requests = append(requests, time.Since(start))
		if n%5 == 0 {
			took, err := d.newSession()
			if err != nil {
				return err
			}
			sessions = append(sessions, took)
		}
		time.Sleep(10 * time.Millisecond)
	}
	quantiles("nobody else: git status", requests)
	quantiles("nobody else: new session", sessions)
	return nil
}

// hogs measures how long small requests and new sessions take while two clients ask for
// as much as they can.
func hogs(ctx context.Context, d *daemon) error {
	var of [2]atomic.Int64
	var refused atomic.Int64
	if err := alone(d); err != nil {
		return err
	}
	var all sync.WaitGroup
	failed := make(chan error, len(of))
	for n := range of {
		all.Go(func() { failed <- hog(ctx, d, n, &of[n], &refused) })
	}
	defer all.Wait()
	s, err := d.dial()
	if err != nil {
		return err
	}
	defer s.conn.Close()
	if err := s.declare(d, "small"); err != nil {
		return err
	}
	time.Sleep(time.Second) // until the hogs have filled what they may
	tooSlow := measureOthers(ctx, d, s, "hogs")
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return fmt.Errorf("a hog: %w", err)
		}
	}
	fmt.Printf("hogs: %d and %d requests of 64 calls were answered, %d of them with -32051\n", of[0].Load(), of[1].Load(), refused.Load())
	return tooSlow
}

// measureOthers measures small requests and new sessions while other clients send as
// many requests as they can, until ctx ends.
func measureOthers(ctx context.Context, d *daemon, s *small, others string) error {
	var requests, sessions []time.Duration
	for n := 0; ctx.Err() == nil; n++ {
		start := time.Now()
		if err := s.gitStatus("small"); err != nil {
			return err
		}
		requests = append(requests, time.Since(start))
		if n%10 == 0 {
			took, err := d.newSession()
			if err != nil {
				return err
			}
			sessions = append(sessions, took)
		}
		time.Sleep(10 * time.Millisecond)
	}
	var tooSlow []error
	if p99 := quantiles(others+": git status", requests); p99 > smallBudget {
		tooSlow = append(tooSlow, fmt.Errorf("git status took %v, more than %v", p99, smallBudget))
	}
	if p99 := quantiles(others+": new session", sessions); p99 > sessionBudget {
		tooSlow = append(tooSlow, fmt.Errorf("a new session took %v, more than %v", p99, sessionBudget))
	}
	return errors.Join(tooSlow...)
}

// quantiles prints how long requests took, and returns the 99th percentile.
func quantiles(what string, took []time.Duration) time.Duration {
	slices.Sort(took)
	at := func(percent int) time.Duration { return took[(len(took)-1)*percent/100].Round(10 * time.Microsecond) }
	fmt.Printf("%s: %d times, p50 %v, p90 %v, p99 %v, max %v\n", what, len(took), at(50), at(90), at(99), at(100))
	return at(99)
}
