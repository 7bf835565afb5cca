package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// relayed is a conversation in which the test plays both sides: permd acp, with an
// agent that sends what the test wants and passes on what it receives.
type relayed struct {
	cmd       *exec.Cmd
	stderr    lockedBuffer
	toAgent   io.WriteCloser // the client's ends
	fromAgent *bufio.Reader
	clientEar io.Closer
	agent     *net.UnixConn // the agent's: both in one
	agentIn   *bufio.Reader
	life      *net.UnixConn // ends when the agent and all that it started are gone
	pid       int           // of the agent
}

// runRelay is the agent. With an argument, it starts another process (see runAgent).
func runRelay(path string, child []string) int {
	life, err := net.Dial("unix", path)
	if err != nil {
		return 125
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return 125
	}
	if len(child) > 0 {
		file, err := life.(*net.UnixConn).File()
		if err != nil {
			return 125
		}
		cmd := exec.Command(os.Args[0], append([]string{asAgent}, child...)...)
		cmd.ExtraFiles = []*os.File{file}
		out, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			return 125
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it is as it is to be
			return 125
		}
	}
	fmt.Fprintln(life, os.Getpid())
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		conn.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	return 0
}

// relay starts permd acp with such an agent. The client's pipes are files of this
// process, so that a test can close each of them.
func (d *testDaemon) relay(t *testing.T, child ...string) *relayed {
	t.Helper()
	path := filepath.Join(d.run, "agent")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r := new(relayed)
	r.cmd = d.command(append([]string{"acp", "--", os.Args[0], asAgent, "relay", path}, child...)...)
	r.cmd.Stderr = &r.stderr
	in, toAgent, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromAgent, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stdin, r.cmd.Stdout, r.toAgent, r.fromAgent, r.clientEar = in, out, toAgent, bufio.NewReader(fromAgent), fromAgent
	t.Cleanup(func() { fromAgent.Close(); toAgent.Close() })
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	t.Cleanup(func() { r.cmd.Process.Kill() })
	for _, conn := range []**net.UnixConn{&r.life, &r.agent} {
		_ = listener.SetDeadline(time.Now().Add(eventually.Limit))
		if *conn, err = listener.AcceptUnix(); err != nil {
			t.Fatalf("the agent did not start: %v\n%s", err, r.stderr.String())
		}
		t.Cleanup(func() { (*conn).Close() })
	}
	r.agentIn = bufio.NewReader(r.agent)
	if _, err := fmt.Fscanln(r.life, &r.pid); err != nil {
		t.Fatal(err)
	}
	return r
}

// say sends a line as one of the peers.
func say(t *testing.T, w io.Writer, line string) {
	t.Helper()
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// hear reads a line as one of the peers.
func hear(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// passes sends a line as one peer that the other must get unchanged.
func passes(t *testing.T, w io.Writer, r *bufio.Reader, line string) {
	t.Helper()
	say(t, w, line)
	if got := hear(t, r); got != line {
		t.Errorf("received %q, want %q", got, line)
	}
}

// begin opens a conversation, and a session in a folder.
func (r *relayed) begin(t *testing.T, agent, version, protocol, session, cwd string) {
	t.Helper()
	greet(t, talkers{r.toAgent, r.fromAgent, r.agent, r.agentIn}, agent, version, protocol, session, cwd)
}

// talkers are the ends of a conversation, which the test plays.
type talkers struct {
	client      io.Writer
	clientHears *bufio.Reader
	agent       io.Writer
	agentHears  *bufio.Reader
}

func greet(t *testing.T, k talkers, agent, version, protocol, session, cwd string) {
	t.Helper()
	passes(t, k.client, k.agentHears, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":`+protocol+`,"clientInfo":{"name":"editor","version":"1"}}}`)
	name := "agentInfo"
	if protocol == "2" {
		name = "info"
	}
	passes(t, k.agent, k.clientHears, fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":%s,"%s":{"name":%q,"version":%q}}}`, protocol, name, agent, version))
	passes(t, k.client, k.agentHears, fmt.Sprintf(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, cwd))
	passes(t, k.agent, k.clientHears, fmt.Sprintf(`{"jsonrpc":"2.0","id":"n","result":{"sessionId":%q}}`, session))
}

// end closes the client's pipe, and checks that everything ends with it.
func (r *relayed) end(t *testing.T) {
	t.Helper()
	r.toAgent.Close()
	if rest, err := io.ReadAll(r.agentIn); err != nil || len(rest) > 0 {
		t.Errorf("the agent received %q at the end, %v", rest, err)
	}
	r.agent.CloseWrite()
	if rest, err := io.ReadAll(r.fromAgent); err != nil || len(rest) > 0 {
		t.Errorf("the client received %q at the end, %v", rest, err)
	}
	ended(t, r.cmd, &r.stderr, 0)
	r.gone(t)
}

// gone checks that the agent and all processes that it started have ended.
func (r *relayed) gone(t *testing.T) {
	t.Helper()
	_ = r.life.SetReadDeadline(time.Now().Add(eventually.Limit))
	if rest, err := io.ReadAll(r.life); err != nil || len(bytes.TrimSpace(rest)) > 0 {
		t.Errorf("something of the agent is left: %q, %v", rest, err)
	}
}
