package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// careless is a message as encoding/json reads it: member names in any case, the
// last of duplicates.
type careless struct {
	ID     json.RawMessage
	Method string
	Params *struct{ SessionID, Path, Command string }
}

// acts reports whether a careless client would do something for the agent, or
// ask its person, because of a line.
func acts(line []byte) bool {
	var m careless
	_ = json.Unmarshal(line, &m) // what was read before an error counts
	if m.Params == nil {
		return false // a request about nothing: permd cannot be asked, and a person sees nothing
	}
	switch m.Method {
	case "session/request_permission":
		return m.ID != nil
	case "terminal/create":
		return m.ID != nil && m.Params.Command != ""
	case "fs/write_text_file", "fs/read_text_file":
		return m.ID != nil && m.Params.Path != ""
	}
	return false
}

// FuzzLines sends arbitrary lines from both sides. Without permd every line is
// passed on unchanged, or its sender gets one error. A line that could make even a
// careless client act is never passed on without asking permd.
func FuzzLines(f *testing.F) {
	names, err := filepath.Glob("../acp/testdata/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		v := strictjson.Value(data)
		if v.Compact() == nil {
			f.Add([]byte(v), true)
		}
	}
	for _, line := range []string{
		request("1", "c"), update("s1", "tool_call", "c", `,"content":[{}]`), update("s1", "tool_call_update", "c", `,"rawInput":{"a":1}`),
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s1","command":"ls"}}`, `[]`, `{"id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":5,"method":"session/set_mode","params":{"sessionId":"s1","modeId":"yolo"}}`, "\xff{", "ready {a: 1}", "/**/{\"method\":\"terminal/create\"}", "{\"method\":\"a\",\"\\u006dethod\":\"b\"}",
	} {
		f.Add([]byte(line), true)
		f.Add([]byte(line), false)
	}
	f.Fuzz(func(t *testing.T, line []byte, agent bool) {
		if bytes.ContainsAny(line, "\n") {
			return
		}
		from := clientSide
		if agent {
			from = agentSide
		}
		line = append(bytes.Clone(line), '\n')
		kept := bytes.Clone(line)

		k := newTalk(t, Rules{})
		k.begin("x")
		k.do(k.core.onLine(from, line))
		asked := len(k.open) > 0
		for len(k.open) > 0 {
			a := k.open[0]
			k.open = k.open[1:]
			k.answer(a, "", client.ErrUnreachable)
		}
		passed, told := k.sent(from.other()), k.sent(from)
		_, err := read(kept)
		printed := agent && errors.Is(err, errLoose) // text printed by mistake is dropped without an error
		if n := len(passed) + len(told); n != 1 && (n != 0 || !printed) || len(passed) == 1 && passed[0]+"\n" != string(kept) {
			t.Errorf("passed on %q, told its sender %q", passed, told)
		}
		if agent && len(passed) == 1 && !asked && acts(kept) {
			t.Errorf("passed on without asking: %q", kept)
		}

		k = newTalk(t, Rules{})
		k.begin("x")
		k.do(k.core.onLine(from, line))
		for len(k.open) > 0 {
			a := k.open[0]
			k.open = k.open[1:]
			k.answer(a, picks("no-such-option"), nil)
		}
		if passed := k.sent(from.other()); len(passed) > 1 || len(passed) == 1 && passed[0]+"\n" != string(kept) {
			t.Errorf("passed on %q", passed)
		}
		if !bytes.Equal(line, kept) {
			t.Error("the line was changed in place")
		}
	})
}
