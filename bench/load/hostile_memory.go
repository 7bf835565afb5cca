package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// oneConnection sends 6 MB of requests on one connection, again and again, and does not
// read the answers for a while each time.
func oneConnection(ctx context.Context, d *daemon) error {
	for round := 0; ctx.Err() == nil; round++ {
		s, err := d.dial()
		if err != nil {
			return err
		}
		if err := s.declare(d, "one"); err != nil {
			return err
		}
		go func() {
			for id := range 64 {
				commands := make([]string, 64)
				for n := range commands {
					var b strings.Builder
					for i := 0; b.Len() < 1450; i++ {
						fmt.Fprintf(&b, "p%d;", round+id*64*250+n*250+i)
					}
					commands[n] = b.String()
				}
				if _, err := io.WriteString(s.conn, message(id+2, "permd/decide", bash("one", commands...))); err != nil {
					return
				}
			}
		}()
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
		// The answers are read from now on, or the client goes away with them unread.
		if round%2 == 0 {
			_ = s.conn.SetReadDeadline(time.Now().Add(3 * time.Second))
			_, _ = io.Copy(io.Discard, s.lines)
		}
		s.conn.Close()
	}
	return nil
}

// manyConnections holds as much as permd lets it on many connections: messages that are
// not finished, questions that are not answered, calls that were announced, and answers
// that are not read.
func manyConnections(ctx context.Context, d *daemon) error {
	const connections = 124
	if err := alone(d); err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	for number := range connections {
		s, err := d.dial()
		if err != nil {
			return err
		}
		all.Go(func() {
			defer s.conn.Close()
			defer context.AfterFunc(ctx, func() { s.conn.Close() })()
			hold(d, s, number)
			<-ctx.Done()
		})
	}
	// Another client is served all the while.
	time.Sleep(time.Second)
	s, err := d.dial()
	if err != nil {
		return err
	}
	defer s.conn.Close()
	if err := s.declare(d, "small"); err != nil {
		return err
	}
	return measureOthers(ctx, d, s, "connections")
}

// hold fills what one connection may hold. Errors are expected.
func hold(d *daemon, s *small, number int) {
	session := fmt.Sprint("h", number)
	if s.declare(d, session) != nil {
		return
	}
	_ = s.conn.SetDeadline(time.Time{})
	go func() {
		id := 10
		text := strings.Repeat("x", 50_000)
		send := func(method string, params any, request bool) bool {
			n := 0
			if request {
				id++
				n = id
			}
			_, err := io.WriteString(s.conn, message(n, method, params))
			return err == nil
		}
		for n := range 200 { // calls that were announced
			if !send("session/update", map[string]any{"sessionId": session, "update": map[string]any{
				"sessionUpdate": "tool_call", "toolCallId": fmt.Sprint("t", n), "title": "x", "kind": "execute", "status": "pending",
				"rawInput": map[string]string{"command": fmt.Sprintf("frob%d %s", n, text)},
			}}, false) {
				return
			}
		}
		for n := range 300 { // questions
			if !send("permd/decide", bash(session, fmt.Sprintf("frob %d '%s'", n, text)), true) {
				return
			}
		}
		for n := range 100 {
			if !send("otc/call", map[string]any{
				"call": map[string]any{"call_id": fmt.Sprint("o", n), "tool_id": "soak.frob@1.0.0", "input": map[string]string{"text": text}},
				"tool": map[string]any{"id": "soak.frob@1.0.0", "name": "frob", "description": "x", "version": "1.0.0", "input_schema": map[string]any{"parameters": map[string]any{}}},
			}, true) {
				return
			}
		}
		// A message without an end.
		_, _ = io.WriteString(s.conn, `{"jsonrpc":"2.0","id":1,"method":"permd/decide","params":{"x":"`+strings.Repeat("x", 3_900_000))
	}()
	if number%2 == 0 {
		_, _ = io.Copy(io.Discard, s.lines)
	}
}
