package mcp

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// unreadable are responses to the request 1 that are not passed on, by whether it is certain
// that they are.
var unreadable = map[string]struct {
	text    string
	certain bool
}{
	"a lone surrogate":              {`{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}`, true},
	"bytes that are no UTF-8":       {`{"jsonrpc":"2.0","id":1,"result":{"a":"` + "\xff" + `"}}`, true},
	"too deep":                      {`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, true},
	"no number":                     {`{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}`, true},
	"no number as the result":       {`{"jsonrpc":"2.0", "result": -Infinity ,"id": 1 }`, true},
	"two members of one name":       {`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`, true},
	"two results":                   {`{"jsonrpc":"2.0","id":1,"result":{},"result":{"a":2}}`, true},
	"a result and an error":         {`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, true},
	"neither":                       {`{"jsonrpc":"2.0","id":1}`, true},
	"no version":                    {`{"id":1,"result":{}}`, true},
	"another version":               {`{"jsonrpc":"1.0","id":1,"result":{}}`, true},
	"a tail":                        {`{"jsonrpc":"2.0","id":1,"result":{"a":[{"b":"}\"]"}, "c" ]}, "x":tru}`, true},
	"too long":                      {`{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat("x", maxLine) + `"}}`, true},
	"too long, with its id last":    {`{"jsonrpc":"2.0","result":{"a":"` + strings.Repeat(`\"x`, maxLine/3) + `"},"id":1}`, true},
	"too long, and not closed":      {`{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat("x", maxLine), false},
	"two ids":                       {`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, false},
	"a further id in other letters": {`{"jsonrpc":"2.0","id":1,"ID":2,"result":{"a":NaN}}`, false},
	"a further id with an escape":   {`{"jsonrpc":"2.0","id":1,"\u0069d":2,"result":{"a":NaN}}`, false},
	"a name that cannot be read":    {`{"jsonrpc":"2.0","id":1,"\ud800":2,"result":{}}`, false},
	"the id null":                   {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`, false},
	"the id 1.0":                    {`{"jsonrpc":"2.0","id":1.0,"result":{}}`, false},
	"the id as a text":              {`{"jsonrpc":"2.0","id":"1","result":{}}`, false},
	"an id of two parts":            {`{"jsonrpc":"2.0","id":1 1,"result":{}}`, false},
	"the id in another letter":      {`{"jsonrpc":"2.0","Id":1,"result":{}}`, false},
	"a batch":                       {`[{"jsonrpc":"2.0","id":1,"result":{}}]`, false},
	"a text before it":              {`done{"jsonrpc":"2.0","id":1,"result":{}}`, false},
	"brackets that do not match":    {`{"jsonrpc":"2.0","result":{"a":[},"id":1}`, false},
	"two responses in a line":       {`{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}`, false},
	"a request and a response":      {`{"jsonrpc":"2.0","id":1,"method":"x","result":{}}`, false},
	"two lines":                     {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\n\"}}", false},
}

// TestUnreadable: a request is answered with an error, once, when its response cannot be read:
// at once where it surely is that, else after some time, unless the response still comes.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for name, tt := range unreadable {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && len(tt.text) > maxLine && name != "too long" {
				t.Skip("long: a message of more than 32 MiB; too long is the quick one")
			}
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := runBetween(t)
				answers := p.clientLines()
				go discardAll(p.toServer)
				p.send(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"other","method":"ping"}`)
				synctest.Wait()
				start := time.Now()
				p.serve(t, tt.text)
				p.serve(t, `{"jsonrpc":"2.0","id":"other","result":{"a":1}}`)
				if got := next(t, answers); tt.certain != strings.Contains(got, `"id":1,"error"`) {
					t.Errorf("the first answer is %s", got)
				} else if tt.certain {
					next(t, answers)
				} else if got := next(t, answers); !strings.Contains(got, `"id":1,"error"`) || time.Since(start) != doubtTimeout {
					t.Errorf("the second answer is %s after %v", got, time.Since(start))
				}
				// What comes late is none to the next request.
				p.serve(t, `{"jsonrpc":"2.0","id":1,"result":{"late":1}}`)
				p.send(t, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
				synctest.Wait()
				p.serve(t, `{"jsonrpc":"2.0","id":3,"result":{}}`)
				if got := next(t, answers); !strings.Contains(got, `"id":3,"result"`) {
					t.Errorf("after it: %s", got)
				}
				p.fromClient.Close()
				p.fromServer.Close()
				if err := <-p.ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestDoubted: a response that comes in time is passed on, and a request that is sent after a
// line that cannot be read is not given up.
func TestDoubted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := runBetween(t)
		answers := p.clientLines()
		go discardAll(p.toServer)
		p.send(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		synctest.Wait()
		p.serve(t, `{"jsonrpc":"2.0","id":null,"result":{}}`)
		synctest.Wait()
		p.send(t, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		time.Sleep(doubtTimeout - time.Second)
		p.serve(t, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`)
		if got := next(t, answers); !strings.Contains(got, `"a":1`) {
			t.Errorf("in time: %s", got)
		}
		time.Sleep(10 * doubtTimeout)
		// Lines that are no messages, and messages that are no responses.
		for _, line := range []string{"plain text", `{"level":"error","error":"x","msg":"y"}`, `{"jsonrpc":"2.0","method":"notifications/message","params":"\ud800"}`} {
			p.serve(t, line)
		}
		time.Sleep(10 * doubtTimeout)
		p.serve(t, `{"jsonrpc":"2.0","id":2,"result":{"a":2}}`)
		if got := next(t, answers); !strings.Contains(got, `"a":2`) {
			t.Errorf("much later: %s", got)
		}
		p.fromServer.Close()
		if err := <-p.ended; err != nil {
			t.Error(err)
		}
	})
}

// TestUnreadableRequest: a server's request that cannot be read is answered with an error.
func TestUnreadableRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve(t, `{"jsonrpc":"2.0","id":"r","method":"roots/list","params":{"a":"\ud800"}}`+"\n")
	w.wantServer(t, `"id":"r","error"`)
	w.send(t, `{"jsonrpc":"2.0","id":5,"method":"ping","params":"`+strings.Repeat("x", maxLine)+`"}`)
	w.wantClient(t, `"id":5,"error"`)
}

// TestUnreadableCall: a call whose result cannot be read runs once. So it does when the server
// ends in the middle of it.
func TestUnreadableCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.send(t, call("1", "yes"), call("2", "yes"))
	w.wantServer(t, `"id":2,`)
	w.serve(t, `{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}`+"\n"+`{"jsonrpc":"2.0","id":2,"result":{`)
	w.wantClient(t, `"id":1,"error":{"code":-32603,"message":"permd: the server's response cannot be passed on (if this is a call, it may have run)`)
	if err := w.fromServe.Close(); err != nil {
		t.Fatal(err)
	}
	w.wantClient(t, `"id":2,"error"`)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.server) != 2 || len(w.client) != 2 {
		t.Errorf("the server received %s, the client %s", w.server, w.client)
	}
}

// TestEndless: a line without an end ends the conversation.
func TestEndless(t *testing.T) {
	t.Parallel()
	if overHTTP {
		t.Skip("there are no lines")
	}
	w := newWorld(t)
	w.send(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	w.wantServer(t, `"id":1,`)
	part := strings.Repeat("x", 1<<20)
	for range maxSkipped>>20 + 1 {
		if _, err := io.WriteString(w.fromServe, part); err != nil {
			break
		}
	}
	w.wantClient(t, `"id":1,"error"`)
	if err := <-w.ended; err == nil || !strings.Contains(err.Error(), errEndless.Error()) {
		t.Errorf("the conversation ended with %v", err)
	}
	w.ended <- nil
}

// FuzzOutline compares the outline of an object with what encoding/json reads of it.
func FuzzOutline(f *testing.F) {
	for _, tt := range unreadable {
		if len(tt.text) < 1000 {
			f.Add([]byte(tt.text))
		}
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":0,"":{},"result":{}}`))
	f.Add([]byte(`{"id":"x","a":[{"id":2},"]"],"jsonrpc":"2.0"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := new(outline)
		_, _ = o.Write(data)
		if m, err := readMessage(data); err == nil && m.id != "" {
			if got := o.response() + o.request(); got != m.id {
				t.Errorf("%q has the id %s, and %q in its outline", data, m.id, got)
			}
		}
		id := o.response()
		var lenient map[string]json.RawMessage
		if id == "" || json.Unmarshal(data, &lenient) != nil {
			return
		}
		if got := readID([]byte(lenient["id"])); got != id {
			t.Errorf("%q has the id %s, and %s in its outline", data, got, id)
		}
	})
}

// clientLines returns what the client receives.
func (p *peers) clientLines() <-chan string {
	lines := make(chan string, 100)
	go func() {
		r := bufio.NewReader(p.toClient)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	return lines
}

func next(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case line := <-lines:
		return line
	case <-time.After(time.Hour):
		t.Fatal("nothing is received")
		return ""
	}
}

// serve sends a line of the server.
func (p *peers) serve(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.fromServer, line+"\n"); err != nil {
		t.Fatal(err)
	}
}
