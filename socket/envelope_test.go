package socket

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/permd/permd/internal/strictjson"
)

// deep returns a message whose params are nested so that the message has n levels.
func deep(n int) string {
	return `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` +
		strings.Repeat("[", n-2) + strings.Repeat("]", n-2) + `}}`
}

var envelopes = []struct {
	name, in string
	want     message
	id       string // the id that an error has
	code     int    // 0: no error
}{
	{name: "request", in: `{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}}`,
		want: message{kind: kindRequest, id: strictjson.Value(`7`), method: "m", params: strictjson.Value(`{"a":1}`)}},
	{name: "in any order", in: ` { "params" : {} , "method":"m","id" : "x" ,"jsonrpc":"2.0"} ` + "\r",
		want: message{kind: kindRequest, id: strictjson.Value(`"x"`), method: "m", params: strictjson.Value(`{}`)}},
	{name: "notification", in: `{"jsonrpc":"2.0","method":"m"}`, want: message{kind: kindNotification, method: "m"}},
	{name: "null params", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`,
		want: message{kind: kindRequest, id: strictjson.Value(`1`), method: "m"}},
	{name: "null id", in: `{"jsonrpc":"2.0","id":null,"method":"m"}`,
		want: message{kind: kindRequest, id: strictjson.Value(`null`), method: "m"}},
	{name: "id is kept as written", in: `{"jsonrpc":"2.0","id":"\u0061\/","method":"m"}`,
		want: message{kind: kindRequest, id: strictjson.Value(`"\u0061\/"`), method: "m"}},
	{name: "id above 2^53", in: `{"jsonrpc":"2.0","id":12345678901234567890123,"method":"m"}`,
		want: message{kind: kindRequest, id: strictjson.Value(`12345678901234567890123`), method: "m"}},
	{name: "negative id", in: `{"jsonrpc":"2.0","id":-1,"method":"m"}`,
		want: message{kind: kindRequest, id: strictjson.Value(`-1`), method: "m"}},
	{name: "other members", in: `{"jsonrpc":"2.0","id":1,"method":"m","_meta":{"x":1},"traceId":"t"}`,
		want: message{kind: kindRequest, id: strictjson.Value(`1`), method: "m"}},
	{name: "near-misses in params are the method's", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"Method":"x"}}`,
		want: message{kind: kindRequest, id: strictjson.Value(`1`), method: "m", params: strictjson.Value(`{"Method":"x"}`)}},
	{name: "as deep as allowed", in: deep(128),
		want: message{kind: kindRequest, id: strictjson.Value(`1`), method: "m", params: strictjson.Value(`{"a":` + strings.Repeat("[", 126) + strings.Repeat("]", 126) + `}`)}},

	{name: "response", in: `{"jsonrpc":"2.0","id":1,"result":{}}`, want: message{kind: kindDropped}},
	{name: "error response", in: `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, want: message{kind: kindDropped}},
	{name: "notification with list params", in: `{"jsonrpc":"2.0","method":"m","params":[1]}`, want: message{kind: kindDropped, method: "m"}},

	{name: "not JSON", in: `hello`, id: `null`, code: CodeParse},
	{name: "half", in: `{"jsonrpc":"2.0","id":1,`, id: `null`, code: CodeParse},
	{name: "two values", in: `{"jsonrpc":"2.0","id":1,"method":"m"}{}`, id: `null`, code: CodeParse},
	{name: "duplicate name", in: `{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}`, id: `null`, code: CodeParse},
	{name: "duplicate name by escape", in: `{"jsonrpc":"2.0","id":1,"method":"m","meth\u006fd":"n"}`, id: `null`, code: CodeParse},
	{name: "duplicate deep inside", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[{"b":1,"b":2}]}}`, id: `null`, code: CodeParse},
	{name: "invalid UTF-8", in: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\xff\"}", id: `null`, code: CodeParse},
	{name: "NUL", in: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\x00\"}", id: `null`, code: CodeParse},
	{name: "too deep", in: deep(129), id: `null`, code: CodeParse},
	{name: "a million deep", in: strings.Repeat("[", 1_000_000), id: `null`, code: CodeParse},
	{name: "batch", in: `[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"m"}]`, id: `null`, code: CodeRequest},
	{name: "empty batch", in: `[]`, id: `null`, code: CodeRequest},
	{name: "a string", in: `"m"`, id: `null`, code: CodeRequest},
	{name: "null", in: `null`, id: `null`, code: CodeRequest},
	{name: "near-miss beside the name", in: `{"jsonrpc":"2.0","id":1,"method":"m","Method":"n"}`, id: `1`, code: CodeRequest},
	{name: "near-miss alone", in: `{"jsonrpc":"2.0","id":1,"METHOD":"m"}`, id: `1`, code: CodeRequest},
	{name: "near-miss of params", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":{},"Params":{"x":1}}`, id: `1`, code: CodeRequest},
	{name: "near-miss by long s", in: `{"jsonrpc":"2.0","id":1,"method":"m","param\u017f":{}}`, id: `1`, code: CodeRequest},
	{name: "near-miss by NUL", in: `{"jsonrpc":"2.0","id":1,"method":"m","params\u0000":{}}`, id: `1`, code: CodeRequest},
	{name: "near-miss of id", in: `{"jsonrpc":"2.0","id":1,"ID":2,"method":"m"}`, id: `null`, code: CodeRequest},
	{name: "near-miss of a response", in: `{"jsonrpc":"2.0","id":1,"method":"m","Result":2}`, id: `1`, code: CodeRequest},
	{name: "no version", in: `{"id":1,"method":"m"}`, id: `1`, code: CodeRequest},
	{name: "version 1.0", in: `{"jsonrpc":"1.0","id":1,"method":"m"}`, id: `1`, code: CodeRequest},
	{name: "version as number", in: `{"jsonrpc":2.0,"id":1,"method":"m"}`, id: `1`, code: CodeRequest},
	{name: "request and response", in: `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, id: `1`, code: CodeRequest},
	{name: "no method", in: `{"jsonrpc":"2.0","id":1}`, id: `1`, code: CodeRequest},
	{name: "method is a number", in: `{"jsonrpc":"2.0","id":1,"method":5}`, id: `1`, code: CodeRequest},
	{name: "method is null", in: `{"jsonrpc":"2.0","id":1,"method":null}`, id: `1`, code: CodeRequest},
	{name: "fractional id", in: `{"jsonrpc":"2.0","id":1.0,"method":"m"}`, id: `null`, code: CodeRequest},
	{name: "id with exponent", in: `{"jsonrpc":"2.0","id":1e0,"method":"m"}`, id: `null`, code: CodeRequest},
	{name: "id is an object", in: `{"jsonrpc":"2.0","id":{},"method":"m"}`, id: `null`, code: CodeRequest},
	{name: "id is true", in: `{"jsonrpc":"2.0","id":true,"method":"m"}`, id: `null`, code: CodeRequest},
	{name: "id too long", in: `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxID) + `","method":"m"}`, id: `null`, code: CodeRequest},
	{name: "params is a list", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, id: `1`, code: CodeParams},
	{name: "params is a string", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, id: `1`, code: CodeParams},
}

func TestDecode(t *testing.T) {
	for _, tt := range envelopes {
		t.Run(tt.name, func(t *testing.T) {
			m, id, fault := decode([]byte(tt.in))
			if tt.code == 0 {
				if fault != nil {
					t.Fatalf("error %d %s", fault.Code, fault.Message)
				}
				if diff := cmp.Diff(tt.want, m, cmp.AllowUnexported(message{}), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("message differs (-want +got):\n%s", diff)
				}
				return
			}
			if fault == nil {
				t.Fatalf("read as %+v", m)
			}
			if fault.Code != tt.code || string(id) != tt.id {
				t.Errorf("code %d for id %s, want %d for %s (%s)", fault.Code, id, tt.code, tt.id, fault.Message)
			}
		})
	}
}

func TestDecodeErrorsNeverRepeatInput(t *testing.T) {
	const canary = "canary-4f1d"
	for _, in := range []string{
		canary,
		`{"` + canary + `":1,"` + canary + `":2}`,
		`{"jsonrpc":"` + canary + `","id":1,"method":"m"}`,
		`{"jsonrpc":"2.0","id":{"` + canary + `":1},"method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method":{"` + canary + `":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","Params":"` + canary + `"}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":"` + canary + `"}`,
	} {
		_, id, fault := decode([]byte(in))
		if fault == nil {
			t.Fatalf("%s was read", in)
		}
		body, err := marshal(fault)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(id)+string(body), canary) {
			t.Errorf("%s: the error repeats the input: %s", in, body)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, tt := range envelopes {
		if len(tt.in) < 4096 {
			f.Add([]byte(tt.in))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, id, fault := decode(line)
		if fault != nil {
			if id == nil || !validID(id) {
				t.Fatalf("an error answers id %q", id)
			}
			return
		}
		if m.kind == kindDropped {
			return
		}
		if (m.kind == kindRequest) != (m.id != nil) || m.id != nil && !validID(m.id) {
			t.Fatalf("kind %d with id %q", m.kind, m.id)
		}
		// A message that was read can be written, and is then read as the same.
		name, err := marshal(m.method)
		if err != nil {
			t.Fatal(err)
		}
		again := `{"jsonrpc":"2.0","method":` + string(name)
		if m.id != nil {
			again += `,"id":` + string(m.id)
		}
		if m.params != nil {
			again += `,"params":` + string(m.params)
		}
		m2, _, fault := decode([]byte(again + "}"))
		if fault != nil {
			t.Fatalf("written again it is refused: %s", fault.Message)
		}
		if diff := cmp.Diff(m, m2, cmp.AllowUnexported(message{})); diff != "" {
			t.Fatalf("written again it differs:\n%s", diff)
		}
		answer := appendAnswer(nil, m.id, "result", nullID)
		if m.id != nil && strings.Count(string(answer), "\n") != 1 {
			t.Fatalf("an answer of more than one line: %q", answer)
		}
	})
}

// TestDecodeCopies: the buffer of a line is reused while the message that was read
// from it is still in use.
func TestDecodeCopies(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","id":"a","method":"m","params":{"command":"true"}}`)
	m, _, fault := decode(line)
	if fault != nil {
		t.Fatal(fault)
	}
	for i := range line {
		line[i] = 'x'
	}
	if string(m.id) != `"a"` || m.method != "m" || string(m.params) != `{"command":"true"}` {
		t.Errorf("the message changed with its line: %s %s %s", m.id, m.method, m.params)
	}
}
