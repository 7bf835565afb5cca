package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// What this program is when it is started as a process of its own, see echoFlag.
const (
	echoLines = "lines"
	echoHTTP  = "http"
	echoAgent = "agent" // an ACP agent, which is no echo: see agent
	echoRelay = "relay" // a relay between an agent and the daemon: see relay
	echoFloor = "floor" // lines, after the system calls of a decision: see floor
)

// echoFlag is the first word of the command line that makes this program an echo server.
// The others are what it serves, and its socket.
const echoFlag = "-echo"

// maybeEcho serves an echo, or is an agent, if the program was started for it, and never returns then.
func maybeEcho(args []string) {
	if len(args) != 3 || args[0] != echoFlag {
		return
	}
	serve := echo
	switch args[1] {
	case echoAgent:
		serve = func(_, socket string) error { return agent(socket) }
	case echoRelay:
		serve = func(_, socket string) error { return relay(socket) }
	case echoFloor:
		serve = func(_, socket string) error { return floor(socket) }
	}
	if err := serve(args[1], args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "speed: echo:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// echo answers each line, or each request over HTTP, with its own bytes. It is the least
// that a server in Go takes for a request of that size.
func echo(what, path string) error {
	ln, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	if what == echoHTTP {
		return http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}))
	}
	return echoOn(ln, func([]byte) {})
}

// echoOn answers each line with its own bytes, after it was looked at.
func echoOn(ln net.Listener, look func(line []byte)) error {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			lines := bufio.NewReaderSize(conn, bufferSize)
			for {
				line, err := lines.ReadSlice('\n')
				if err != nil {
					return
				}
				look(line)
				if _, err := conn.Write(line); err != nil {
					return
				}
			}
		}()
	}
}
