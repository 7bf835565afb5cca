package main

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"time"
)

// order tells the agent that the proxy started to send requests for a while.
type order struct {
	Request  string        `json:"request"` // with markers
	First    int           `json:"first"`   // number of the requests
	Repeated bool          `json:"repeated"`
	Length   time.Duration `json:"length"`
}

// outcome is how long the agent's requests took.
type outcome struct {
	Took  []time.Duration `json:"took"`
	Error string          `json:"error"`
}

// terminal is a program's standard input and output as a connection.
type terminal struct {
	net.Conn // nil: the other methods are not called
	in       io.Reader
	out      io.Writer
}

func (t terminal) Read(b []byte) (int, error)  { return t.in.Read(b) }
func (t terminal) Write(b []byte) (int, error) { return t.out.Write(b) }
func (terminal) SetDeadline(time.Time) error   { return nil }

// The first messages of a client and the agent's answers.
const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}` + "\n"
	initialized = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"claude-agent-acp","version":"0.60.0"}}}` + "\n"
	newSession  = `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q}}` + "\n"
	opened      = `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}` + "\n"
)

// agent is an ACP agent on standard input and output that asks for permissions when it is
// told to over a socket, and measures how long each takes.
func agent(socket string) error {
	conn := terminal{in: os.Stdin, out: os.Stdout}
	c := &connection{conn: conn, reader: bufio.NewReaderSize(conn, bufferClient)}
	for _, answer := range []string{initialized, opened} {
		if _, err := c.reader.ReadSlice('\n'); err != nil {
			return err
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return err
		}
	}
	control, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer control.Close()
	orders, outcomes := json.NewDecoder(control), json.NewEncoder(control)
	var n numbers
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return nil // the measurement is over
		}
		n.argument.Store(int64(o.First))
		s := &series{Repeated: o.Repeated, request: newTemplate(o.Request)}
		took, err := c.drive(n.next(s), []byte(`"optionId":"allow"`), time.Now().Add(o.Length), math.MaxInt, nil)
		out := outcome{Took: took}
		if err != nil {
			out.Error = err.Error()
		}
		if err := outcomes.Encode(out); err != nil {
			return err
		}
	}
}

// Environment variables of a relay that does nothing.
const (
	envRelayAgent   = "PERMD_SPEED_AGENT"   // the socket over which its agent is told what to do
	envRelaySession = "PERMD_SPEED_SESSION" // the line that declares the session
)

// relay is the least that can stand where "permd acp" does: it starts the agent, and passes
// each line of it to the daemon, and each answer back, without a look at them.
func relay(socket string) error {
	daemon, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer daemon.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, echoFlag, echoAgent, os.Getenv(envRelayAgent))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	answers, lines, client := bufio.NewReaderSize(daemon, bufferClient), bufio.NewReaderSize(out, bufferClient), bufio.NewReader(os.Stdin)
	pass := func(from *bufio.Reader, to io.Writer) error {
		line, err := from.ReadSlice('\n')
		if err == nil {
			_, err = to.Write(line)
		}
		return err
	}
	if _, err := io.WriteString(daemon, os.Getenv(envRelaySession)); err != nil {
		return err
	}
	if _, err := answers.ReadSlice('\n'); err != nil {
		return err
	}
	for range 2 { // the messages by which a client opens a session
		if err := pass(client, in); err != nil {
			return err
		}
		if err := pass(lines, os.Stdout); err != nil {
			return err
		}
	}
	go func() { // the client is gone
		_, _ = client.ReadByte()
		os.Exit(0)
	}()
	for {
		if err := pass(lines, daemon); err != nil {
			return nil // the agent has ended
		}
		if err := pass(answers, in); err != nil {
			return err
		}
	}
}
