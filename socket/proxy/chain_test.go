package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// wire sends a conductor's lines and returns everything that it is sent.
func (k *talk) wire(lines ...string) (sent []string) {
	for _, line := range lines {
		k.do(k.core.onConducted([]byte(line + "\n")))
	}
	for side := range k.out {
		for len(k.out[side]) > 0 && !k.out[side][0].open {
			if line := k.out[side][0].line; line != nil {
				sent = append(sent, string(bytes.TrimSuffix(line, []byte("\n"))))
			}
			k.out[side] = k.out[side][1:]
		}
	}
	return sent
}

// TestEnvelopes checks the messages on a conductor's pipe one by one.
func TestEnvelopes(t *testing.T) {
	const refused = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"permd acp: %s"}}`
	cases := []struct {
		name string
		in   []string
		out  []string
		says int
		lost bool // permd is notified that messages were lost
	}{
		{
			name: "from the client", in: []string{`{"jsonrpc":"2.0","id":"u-1","method":"session\/prompt","params":{"n":1.50, "s":"\u00e9"}}`},
			out: []string{`{"jsonrpc":"2.0","id":"u-1","method":"_proxy/successor","params":{"method":"session\/prompt","params":{"n":1.50, "s":"\u00e9"}}}`},
		},
		{
			name: "from the agent", in: []string{`{"jsonrpc":"2.0","id":7,"method":"_proxy/successor","params":{"method":"_x/y","params":[12345678901234567890, "\/"]}}`},
			out: []string{`{"jsonrpc":"2.0","id":7,"method":"_x/y","params":[12345678901234567890, "\/"]}`},
		},
		{
			name: "notifications, spaces, and any order of members",
			in:   []string{` { "params" : {"a":1} , "method" : "_n" }`, `{"params":{ "params":{"b":2} , "method":"_m" },"method":"_proxy/successor","jsonrpc":"2.0"}`},
			out:  []string{`{"jsonrpc":"2.0","params":{"b":2},"method":"_m"}`, `{"jsonrpc":"2.0","method":"_proxy/successor","params":{"params":{"a":1},"method":"_n"}}`},
		},
		{
			name: "no parameters", in: []string{`{"jsonrpc":"2.0","method":"_n"}`, `{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"_m","params":null}}`, `{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"_m"}}`},
			out: []string{`{"jsonrpc":"2.0","method":"_m"}`, `{"jsonrpc":"2.0","method":"_m"}`, `{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"_n","params":null}}`},
		},
		{
			name: "members beside the method stay beside it", in: []string{`{"jsonrpc":"2.0","method":"_n","params":{},"_meta":{"t":1}}`, `{"jsonrpc":"2.0","method":"_proxy/successor","params":{"_meta":{"t":1},"method":"_m","params":{},"peer":"p"}}`},
			out: []string{`{"jsonrpc":"2.0","_meta":{"t":1},"method":"_m","params":{},"peer":"p"}`, `{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"_n","params":{},"_meta":{"t":1}}}`},
		},
		{
			name: "an answer goes to who asked", in: []string{
				`{"jsonrpc":"2.0","id":1,"method":"_proxy/successor","params":{"method":"_a","params":{}}}`, `{"id":1,"result":{"x": 1},"more":[]}`,
				`{"jsonrpc":"2.0","id":1,"method":"_b","params":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`,
			},
			out: []string{
				`{"jsonrpc":"2.0","id":1,"method":"_a","params":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`,
				`{"id":1,"result":{"x": 1},"more":[]}`, `{"jsonrpc":"2.0","id":1,"method":"_proxy/successor","params":{"method":"_b","params":{}}}`,
			},
		},
		{
			name: "initialize is passed on, its answer as it is", in: []string{`{"jsonrpc":"2.0","id":0,"method":"_proxy/initialize","params":{"protocolVersion":1,"_meta":{"a":1}}}`, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"_meta":{"b":2}}}`},
			out: []string{`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"_meta":{"b":2}}}`, `{"jsonrpc":"2.0","id":0,"method":"_proxy/successor","params":{"method":"initialize","params":{"protocolVersion":1,"_meta":{"a":1}}}}`},
		},
		{
			name: "the proposal's names", in: []string{`{"jsonrpc":"2.0","id":0,"method":"proxy/initialize","params":{}}`, `{"jsonrpc":"2.0","method":"proxy/successor","params":{"method":"_m","params":{}}}`, `{"jsonrpc":"2.0","method":"_n","params":{}}`},
			out: []string{`{"jsonrpc":"2.0","method":"_m","params":{}}`, `{"jsonrpc":"2.0","id":0,"method":"proxy/successor","params":{"method":"initialize","params":{}}}`, `{"jsonrpc":"2.0","method":"proxy/successor","params":{"method":"_n","params":{}}}`},
		},
		{
			name: "the names of an envelope, without initialize", in: []string{`{"jsonrpc":"2.0","method":"proxy/successor","params":{"method":"_m","params":{}}}`, `{"jsonrpc":"2.0","method":"_n","params":{}}`},
			out: []string{`{"jsonrpc":"2.0","method":"_m","params":{}}`, `{"jsonrpc":"2.0","method":"proxy/successor","params":{"method":"_n","params":{}}}`},
		},
		{
			name: "the last of a chain", in: []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`},
			out: []string{fmt.Sprintf(refused, "0", errAlone.Error())}, says: 1,
		},
		{name: "initialize as a notification", in: []string{`{"jsonrpc":"2.0","method":"_proxy/initialize","params":{}}`}, says: 1},
		{
			name: "an envelope in an envelope", in: []string{
				`{"jsonrpc":"2.0","id":1,"method":"_proxy/successor","params":{"method":"_proxy/successor","params":{"method":"session/set_mode","params":{}}}}`,
				`{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"proxy/successor","params":{"method":"session/cancel","params":{}}}}`,
				`{"jsonrpc":"2.0","id":2,"method":"_proxy/successor","params":{"method":"_proxy/initialize","params":{}}}`,
			},
			out: []string{fmt.Sprintf(refused, "1", errNested.Error()), fmt.Sprintf(refused, "2", errNested.Error())}, says: 3, lost: true,
		},
		{
			name: "an envelope that can be read in two ways", in: []string{
				`{"jsonrpc":"2.0","id":1,"method":"_proxy/successor","params":{"method":"_a","params":{},"Method":"_b"}}`,
				`{"jsonrpc":"2.0","id":2,"method":"_proxy/successor","params":{"method":"_a","params":{},"message":{"method":"_b"}}}`,
				`{"jsonrpc":"2.0","id":3,"method":"_proxy/successor","params":{"message":{"method":"_b"}}}`,
				`{"jsonrpc":"2.0","id":4,"method":"_proxy/successor","params":{"id":9,"method":"_a"}}`,
				`{"jsonrpc":"2.0","id":5,"method":"_proxy/successor","params":{"id":9,"result":1}}`,
				`{"jsonrpc":"2.0","id":6,"method":"_proxy/successor","params":["_a"]}`,
				`{"jsonrpc":"2.0","id":7,"method":"_proxy/successor","params":{"method":["_a"]}}`,
				`{"jsonrpc":"2.0","id":8,"method":"_proxy/successor"}`,
			},
			out: func() (list []string) {
				for i := range 8 {
					list = append(list, fmt.Sprintf(refused, fmt.Sprint(i+1), errEnvelope.Error()))
				}
				return list
			}(), says: 8, lost: true,
		},
		{
			name: "lines that cannot be read", in: []string{`[]`, `{"a":1,"a":2}`, `{"jsonrpc":"2.0","id":1,"Method":"_a"}`},
			out: []string{
				fmt.Sprintf(refused, "null", errBatch.Error()), `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"permd acp: at byte 7: duplicate object member name"}}`,
				fmt.Sprintf(refused, "null", errAmbiguous.Error()),
			}, says: 3, lost: true,
		},
		{name: "lines that are no messages", in: []string{``, "\t", `ready`, `{"jsonrpc":"2.0"}`, `{"id":3,"result":{}}`, `{"id":null,"error":{"code":1,"message":"x"}}`}, says: 4},
		{
			name: "an id in use, by either side", in: []string{`{"jsonrpc":"2.0","id":1,"method":"_a","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"_proxy/successor","params":{"method":"fs/write_text_file","params":{}}}`},
			out: []string{`{"jsonrpc":"2.0","id":1,"method":"_proxy/successor","params":{"method":"_a","params":{}}}`, fmt.Sprintf(refused, "1", "the id is that of a request that is not answered yet")}, says: 1,
		},
		{
			name: "a request is withdrawn, in an envelope or not", in: []string{
				`{"jsonrpc":"2.0","id":1,"method":"_a","params":{}}`, `{"jsonrpc":"2.0","id":2,"method":"_proxy/successor","params":{"method":"_b","params":{}}}`,
				`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`,
				`{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"$/cancel_request","params":{"requestId":2}}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}`,
			},
			out: []string{
				`{"jsonrpc":"2.0","id":2,"method":"_b","params":{}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`,
				`{"jsonrpc":"2.0","id":1,"method":"_proxy/successor","params":{"method":"_a","params":{}}}`, `{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"$/cancel_request","params":{"requestId":1}}}`,
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, Rules{})
			if d := cmp.Diff(c.out, k.wire(c.in...)); d != "" {
				t.Errorf("the conductor was sent (-want +got):\n%s", d)
			}
			if lost := slices.ContainsFunc(k.acts, func(a action) bool { return string(a.Params) == "{}" }); len(k.says) != c.says || lost != c.lost {
				t.Errorf("said %q, permd received %v", k.says, k.acts)
			}
		})
	}
}

// TestEnvelopedGates: a message in an envelope is decided as it would be without,
// and the conductor delivers permd's answer.
func TestEnvelopedGates(t *testing.T) {
	k := newTalk(t, Rules{})
	write := `{"jsonrpc":"2.0","id":"x","method":"_proxy/successor","params":{"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/etc/passwd","content":"x"}}}`
	if got := k.wire(write); got != nil {
		t.Errorf("passed on unasked: %q", got)
	}
	k.answer(k.asked("permd/gate"), `{"passes":false,"decision":{"verdict":"deny","reason":"no"}}`, nil)
	want := []string{`{"jsonrpc":"2.0","id":"x","error":{"code":-32001,"message":"permd denies this: no"}}`}
	if d := cmp.Diff(want, k.wire()); d != "" {
		t.Errorf("the conductor was sent (-want +got):\n%s", d)
	}
	k.wire(write) // the id is free again
	k.answer(k.asked("permd/gate"), "", client.ErrUnreachable)
	want = []string{`{"jsonrpc":"2.0","id":"x","method":"fs/write_text_file","params":{"sessionId":"s1","path":"/etc/passwd","content":"x"}}`}
	if d := cmp.Diff(want, k.wire()); d != "" {
		t.Errorf("the conductor was sent (-want +got):\n%s", d)
	}
}

// TestEarlyAnswers: a conductor answers a request before it is sent: only an answer
// that comes afterwards counts.
func TestEarlyAnswers(t *testing.T) {
	ask := newConductor("_proxy/").says(agentSide, request("1", "c"))
	write := `{"jsonrpc":"2.0","id":"agent 1","method":"_proxy/successor","params":{"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/p/a","content":"x"}}}`
	answer := `{"jsonrpc":"2.0","id":"agent 1","result":` + picks("yes") + `}`
	for name, line := range map[string]string{"permission": ask, "gate": write} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, Rules{AskGates: true})
			if got := k.wire(line, answer); got != nil {
				t.Errorf("the conductor was sent %q", got)
			}
			q := k.open[0]
			k.open = nil
			k.answer(q, "", asks("run"))
			shown := k.wire()
			if len(shown) != 1 {
				t.Fatalf("the conductor was sent %q", shown)
			}
			if name == "gate" {
				if got := k.wire(answer); got != nil { // still not sent; what is asked is permd's own
					t.Errorf("the conductor was sent %q", got)
				}
				id := strictjson.Find(strictjson.Value(shown[0]), "id")
				k.wire(strings.Replace(strings.Replace(answer, `"agent 1"`, string(id), 1), "yes", gateOnce, 1))
				k.answer(k.asked("permd/choose"), `{"stored":[]}`, nil)
				if got := k.wire(); len(got) != 1 || text(strictjson.Value(got[0]), "method") != methodWrite {
					t.Fatalf("the conductor was sent %q", got)
				}
				if d := cmp.Diff([]string{answer}, k.wire(answer)); d != "" {
					t.Errorf("the conductor was sent (-want +got):\n%s", d)
				}
				return
			}
			k.wire(answer)
			k.answer(k.asked("permd/choose"), `{"stored":[]}`, nil)
			if d := cmp.Diff([]string{answer}, k.wire()); d != "" {
				t.Errorf("the conductor was sent (-want +got):\n%s", d)
			}
			if n := len(k.core.chain.open); n != 0 {
				t.Errorf("%d requests are still open", n)
			}
		})
	}
}

// TestManyOpen: the memory for a conductor that never answers is bounded.
func TestManyOpen(t *testing.T) {
	k := newTalk(t, Rules{})
	for i := range maxOpen {
		k.core.onConducted(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"_a","params":{}}`, i))
	}
	got := k.wire(`{"jsonrpc":"2.0","id":"one more","method":"_a","params":{}}`)
	if len(got) != 1 || !strings.Contains(got[0], "too many requests") {
		t.Errorf("the conductor was sent %q", got)
	}
	k.core.onConducted([]byte(`{"jsonrpc":"2.0","id":0,"result":1}`))
	if got := k.wire(`{"jsonrpc":"2.0","id":"one more","method":"_a","params":{}}`); len(got) != 1 || !strings.Contains(got[0], "_proxy/successor") {
		t.Errorf("the conductor was sent %q", got)
	}
}

// TestRunConducted moves much on a conductor's pipe, in both directions at once:
// everything arrives once, at the other side, and in order.
func TestRunConducted(t *testing.T) {
	d := newPermd(t, allows)
	e := startWith(t, Config{Dial: d.dial, Timeout: 10e9, Retry: 20e6, Conducted: true})
	const n = 2000
	var wait sync.WaitGroup
	all := make(chan struct{}) // every request has its answer
	wait.Go(func() {
		defer e.clientSays.Close()
		defer func() { <-all }()
		for i := range n {
			size := i * 7919 % 3000
			if i%97 == 0 {
				size = 200_000
			}
			params := fmt.Sprintf(`{"n":%d,"s":"%s"}`, i, strings.Repeat("é", size/2))
			fmt.Fprintf(e.clientSays, `{"jsonrpc":"2.0","method":"_n","params":%s}`+"\n", params)
			fmt.Fprintf(e.clientSays, `{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"_m","params":%s}}`+"\n", params)
			if i%50 == 0 {
				m := strictjson.Value(request("0", "c"))
				fmt.Fprintf(e.clientSays, `{"jsonrpc":"2.0","id":"r%d","method":"_proxy/successor","params":{"method":"session/request_permission","params":%s}}`+"\n", i, strictjson.Find(m, "params"))
			}
		}
	})
	next, answered := map[string]int{}, 0
	for hears := bufio.NewReader(e.clientHears); ; {
		line, err := hears.ReadBytes('\n')
		if err != nil {
			if answered < n/50 {
				close(all)
			}
			break
		}
		v := strictjson.Value(line)
		method := text(v, "method")
		value := strictjson.Find(v, "params", "n")
		switch method {
		case "":
			if answered++; answered == n/50 {
				close(all)
			}
			continue
		case "_proxy/successor":
			value = strictjson.Find(v, "params", "params", "n")
		}
		if string(value) != fmt.Sprint(next[method]) {
			t.Errorf("%s came with %s, want %d", method, value, next[method])
		}
		next[method]++
	}
	wait.Wait()
	if err := e.wait(t); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(map[string]int{"_proxy/successor": n, "_m": n}, next); d != "" || answered != n/50 {
		t.Errorf("%d answers; messages (-want +got):\n%s", answered, d)
	}
}

// TestConductorGone: permd ends with its conductor, whichever end it closes first
// and whatever is pending.
func TestConductorGone(t *testing.T) {
	for name, closeOne := range map[string]func(e *ends){
		"it says no more":  func(e *ends) { e.clientSays.Close() },
		"it hears no more": func(e *ends) { e.clientHears.Close(); fmt.Fprintln(e.clientSays, `{"jsonrpc":"2.0","method":"_n"}`) },
		"both":             func(e *ends) { e.clientSays.Close(); e.clientHears.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			d := newPermd(t, func(string) string { return "" }) // never answers
			e := startWith(t, Config{Dial: d.dial, Timeout: 1e12, Retry: 1e12, Conducted: true})
			fmt.Fprintf(e.clientSays, `{"jsonrpc":"2.0","id":1,"method":"_proxy/successor","params":{"method":"session/request_permission","params":{}}}`+"\n")
			closeOne(e)
			if err := e.wait(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzEnvelopes sends arbitrary lines as a conductor. Only these are passed on, and
// those that would make even a careless client act never without asking permd.
func FuzzEnvelopes(f *testing.F) {
	for _, line := range []string{
		request("1", "c"), newConductor("_proxy/").says(agentSide, request("1", "c")), newConductor("proxy/").says(agentSide, request("1", "c")),
		newConductor("_proxy/").says(agentSide, update("s1", "tool_call", "c", `,"content":[{}]`)), newConductor("_proxy/").says(clientSide, `{"id":0,"method":"initialize","params":{}}`),
		newConductor("_proxy/").says(agentSide, `{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s1","command":"ls"}}`),
		`{"id":1,"method":"_proxy/successor","params":{"method":"_proxy/successor","params":{"method":"fs/write_text_file","params":{"path":"/a"}}}}`,
		`{"id":1,"method":"_proxy/successor","params":{"method":"a","\u006dethod":"b"}}`, `{"id":1,"result":{}}`, `[]`, ``, `x`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`, `{"method":"_proxy/successor","params":{"method":"x","_meta":1,"params":null,"id":2}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\n") {
			return
		}
		kept := bytes.Clone(line)
		k := newTalk(t, Rules{})
		k.do(k.core.onConducted(line))
		asked := len(k.open) > 0
		for len(k.open) > 0 {
			a := k.open[0]
			k.open = k.open[1:]
			k.answer(a, "", client.ErrUnreachable)
		}
		sent := k.wire()
		if len(sent) > 1 {
			t.Errorf("the conductor was sent %q", sent)
		}
		for _, s := range sent {
			method := text(strictjson.Value(s), "method")
			if method == "_proxy/successor" || method == "proxy/successor" {
				method = text(strictjson.Value(s), "params", "method")
			} else if !asked && acts([]byte(s)) { // without an envelope it is for the client
				t.Errorf("passed on without asking: %q", s)
			}
			if _, name := chainMethod(method); name == chainSuccessor {
				t.Errorf("another's envelope: %q", s)
			}
		}
		if !bytes.Equal(line, kept) {
			t.Error("the line was changed in place")
		}
	})
}
