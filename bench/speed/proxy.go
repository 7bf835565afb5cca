package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/permd/permd/socket/acp"
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

// proxied are the times of permission requests through "permd acp" and directly.
type proxied struct {
	Through float64 `json:"through_p50_us"`
	Direct  float64 `json:"direct_p50_us"`
	Added   float64 `json:"added_p50_us"` // the median of the differences of the rounds
}

// proxied measures, in turns, repeated commands of an agent that permd's proxy started and
// the same commands over the socket.
func (p *plan) proxied(ctx context.Context, rounds int, length time.Duration) (out proxied, err error) {
	w := p.world
	path := filepath.Join(w.dir, "agent.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		return out, err
	}
	defer ln.Close()
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	cmd := exec.CommandContext(ctx, p.permd, "acp", "--", self, echoFlag, echoAgent, path)
	cmd.Env, cmd.Dir = w.servers[serverPermd].cmd.Env, w.project
	in, err := cmd.StdinPipe()
	if err != nil {
		return out, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return out, err
	}
	if err := cmd.Start(); err != nil {
		return out, err
	}
	defer func() {
		err = errors.Join(err, in.Close(), cmd.Wait())
	}()
	lines := bufio.NewReader(answers)
	for _, text := range []string{initialize, fmt.Sprintf(newSession, w.project)} {
		if _, err := io.WriteString(in, text); err != nil {
			return out, err
		}
		if _, err := lines.ReadSlice('\n'); err != nil {
			return out, err
		}
	}
	control, err := ln.Accept()
	if err != nil {
		return out, err
	}
	defer control.Close()
	orders, outcomes := json.NewEncoder(control), json.NewDecoder(control)
	direct := p.make(serverPermd, command, small, true, 1)
	var n numbers
	var through, straight, added []float64
	for i := range rounds + 1 {
		r, err := w.turn(direct, &n, length)
		if err != nil {
			return out, err
		}
		request := line(acp.MethodRequestPermission, params(toolCall(command, small, w.project)))
		if err := orders.Encode(order{Request: request, Repeated: true, Length: length}); err != nil {
			return out, err
		}
		var got outcome
		if err := outcomes.Decode(&got); err != nil {
			return out, err
		}
		if got.Error != "" {
			return out, fmt.Errorf("an agent behind the proxy: %s", got.Error)
		}
		if i == 0 {
			continue
		}
		slices.Sort(got.Took)
		p50 := micros(percentile(got.Took, 0.5))
		through, straight, added = append(through, p50), append(straight, r.p50), append(added, p50-r.p50)
	}
	return proxied{median(through), median(straight), median(added)}, nil
}

// runProxied measures the proxy alone.
func runProxied(ctx context.Context, o options, out io.Writer, progress func(string)) error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	o.opa, o.instruments = false, false
	p, err := newPlan(ctx, w, o, progress)
	if err != nil {
		return err
	}
	r, err := p.proxied(ctx, o.rounds, o.turn)
	if err != nil {
		return err
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	_, err = fmt.Fprintf(out, "a decided request, p50 in µs: %.0f over the socket, %.0f through permd acp, which adds %.0f\n", r.Direct, r.Through, r.Added)
	return err
}
