package gateway

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/testload"
)

// echoServer answers turns with a text in pieces, in the mode that it is asked for.
type echoServer struct {
	t    *testing.T
	g    *Gateway
	turn func(mode string) string
}

func newEchoServer(t *testing.T, key string) *echoServer {
	s := &echoServer{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/turns") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"sessionId":"s","agent":{"name":"a"}}`)
			return
		}
		var asked struct{ Stream string }
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if asked.Stream == "none" {
			w.Header().Set("Content-Type", "application/json")
		}
		fmt.Fprint(w, s.turn(asked.Stream))
	}))
	t.Cleanup(server.Close)
	upstream, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if s.g, err = New(Config{Upstream: upstream, Key: key, Say: func(string) {}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.g.Close)
	return s
}

// ask has a turn, and returns what the client gets of it.
func (s *echoServer) ask(method, path, body string) (int, string) {
	s.t.Helper()
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.g.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (s *echoServer) session() {
	s.t.Helper()
	if code, text := s.ask("POST", "/sessions", `{"agent":{"name":"a"}}`); code != http.StatusOK {
		s.t.Fatal(code, text)
	}
}

func (s *echoServer) says(mode string) (int, string) {
	return s.ask("POST", "/sessions/s/turns", `{"messages":[{"role":"user","content":"x"}],"stream":"`+mode+`"}`)
}

// pieces returns a turn with a text in pieces.
func pieces(mode, event string, texts ...string) string {
	var b strings.Builder
	if mode == "none" {
		var items []string
		for _, text := range texts {
			switch event {
			case "block":
				items = append(items, `{"type":"text","text":`+quote(text)+`}`)
			default:
				items = append(items, `{"role":"assistant","content":`+quote(text)+`}`)
			}
		}
		list := strings.Join(items, ",")
		if event == "block" {
			list = `{"role":"assistant","content":[` + list + `]}`
		}
		return `{"stopReason":"end_turn","messages":[` + list + `]}`
	}
	b.WriteString("event: turn_start\ndata: {}\n\n")
	member := map[string]string{"text_delta": "delta", "thinking_delta": "delta", "text": "text", "thinking": "thinking"}[event]
	for _, text := range texts {
		fmt.Fprintf(&b, "event: %s\ndata: {%q:%s}\n\n", event, member, quote(text))
	}
	b.WriteString("event: turn_stop\ndata: {\"stopReason\":\"end_turn\"}\n\n")
	return b.String()
}

// textsIn returns the texts that a client has got, put together.
func textsIn(mode, got string) string {
	var b strings.Builder
	if mode == "none" {
		return strings.NewReplacer(`"},{"type":"text","text":"`, "", `"},{"role":"assistant","content":"`, "").Replace(got)
	}
	for line := range strings.Lines(got) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var event map[string]any
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return "unreadable: " + data
		}
		for _, name := range []string{"delta", "text", "thinking"} {
			if s, ok := event[name].(string); ok {
				b.WriteString(s)
			}
		}
	}
	return b.String()
}

const echoedKey = "sk/Live+4711-ABCDEFGHIJKLMNOP-0815"

// keyForms are the forms in which the key is repeated.
func keyForms() map[string]string {
	base64Lines := strings.ReplaceAll(base64.RawStdEncoding.EncodeToString([]byte(echoedKey)), "X", "X\r\n")
	percent := ""
	for _, c := range []byte(echoedKey) {
		percent += fmt.Sprintf("%%%02X", c)
	}
	return map[string]string{
		"as it is": echoedKey, "in capitals": strings.ToUpper(echoedKey), "hexadecimal": hex.EncodeToString([]byte(echoedKey)),
		"base64": base64.RawStdEncoding.EncodeToString([]byte(echoedKey)), "escaped": url.QueryEscape(echoedKey), "percent": percent,
		"PHP": strings.ReplaceAll(echoedKey, "/", `\/`), ".NET": strings.ReplaceAll(echoedKey, "+", `\u002B`),
		"HTML": strings.NewReplacer("+", "&#43;", "/", "&#x2F;").Replace(echoedKey), "escaped twice": url.QueryEscape(url.QueryEscape(echoedKey)),
		"dump": fmt.Sprintf("% x", echoedKey), "lines": base64Lines,
	}
}

var echoEvents = map[string][]string{"delta": {"text_delta", "thinking_delta"}, "message": {"text", "thinking"}, "none": {"block", "message"}}

// TestKeyInPieces cuts a text with the server's key at each byte, in all modes and forms, and in
// single bytes: the client gets nothing of it that says what the key is, and the turn fails.
func TestKeyInPieces(t *testing.T) {
	s := newEchoServer(t, echoedKey)
	s.session()
	forms := keyForms()
	for _, form := range testload.WithShort(t, 4, slices.Sorted(maps.Keys(forms))) {
		key := forms[form]
		for mode, events := range echoEvents {
			for _, event := range events {
				cuts := [][]string{strings.Split("so 100% of "+key, "")}
				for i := range len(key) + 1 {
					cuts = append(cuts, []string{"it is " + key[:i], key[i:] + " now"}, []string{"it is " + key[:i], "", key[i:]})
				}
				// Of all the places between two characters some, and each character alone.
				for i, cut := range append(testload.Sample(t, 12, cuts[1:]), cuts[0]) {
					s.turn = func(mode string) string { return pieces(mode, event, cut...) }
					code, got := s.says(mode)
					most := minBegun
					switch form {
					case "percent", "escaped", "dump", "lines":
						most *= 3
					case "PHP", ".NET", "HTML", "escaped twice":
						most *= 6
					}
					if text := textsIn(mode, got); strings.Contains(text, key[:most+3]) || strings.Contains(text, key[len(key)-most:]) {
						t.Fatalf("%s, %s, %s, cut %d: the client gets %s", form, mode, event, i, got)
					}
					if failed := code != http.StatusOK || strings.Contains(got, `"stopReason":"error"`); !failed {
						t.Fatalf("%s, %s, %s, cut %d: the turn is complete: %s", form, mode, event, i, got)
					}
				}
			}
		}
	}
}

// TestKeyInTurns cuts the key between two turns, and where something else comes in between: the
// client gets less than half of it.
func TestKeyInTurns(t *testing.T) {
	s := newEchoServer(t, echoedKey)
	for mode, events := range echoEvents {
		for _, event := range events {
			for i := range len(echoedKey) + 1 {
				s.session()
				s.turn = func(mode string) string { return pieces(mode, event, "it is "+echoedKey[:i]) }
				_, first := s.says(mode)
				s.turn = func(mode string) string { return pieces(mode, event, echoedKey[i:]) }
				_, second := s.says(mode)
				got := textsIn(mode, first) + textsIn(mode, second)
				if half := len(echoedKey)/2 + 1; strings.Contains(got, echoedKey[:half]) || strings.Contains(got, echoedKey[len(echoedKey)-half:]) {
					t.Fatalf("%s, %s, cut %d: the client gets %s and %s", mode, event, i, first, second)
				}
			}
		}
	}
}

// TestKeyInRandomPieces says the key in random pieces, in a random form, with parts of other
// kinds in between: the turn fails, and what was passed on before has less than half of the key.
func TestKeyInRandomPieces(t *testing.T) {
	g, err := New(Config{Upstream: &url.URL{Scheme: "http", Host: "localhost"}, Key: echoedKey})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	r := rand.New(rand.NewPCG(3, 4))
	for range testload.Rounds(t, "", 3000, 3000) {
		form := []string{"as it is", "in capitals", "hexadecimal", "base64", "escaped", "percent", "PHP", ".NET", "HTML", "escaped twice", "dump", "lines"}[r.IntN(12)]
		key := keyForms()[form]
		rest := "100% of " + echoedKey[:r.IntN(9)] + " " + key + " " + key[:r.IntN(9)]
		got := ""
		f := g.withoutKey(&session{}, func(p part) error {
			if _, piece := pieceOf(&p); p.event == "text_delta" {
				got += piece
			}
			return nil
		})
		var failed error
		for rest != "" && failed == nil {
			p := part{event: "text_delta"}
			switch r.IntN(8) {
			case 0:
				p.event, p.data = "thinking_delta", []byte(`{"delta":`+quote(echoedKey[:r.IntN(12)]+".")+`}`)
			case 1:
				p.event, p.kind, p.data = "tool_result", partResult, []byte(`{"toolCallId":"a","content":"x"}`)
			case 2:
				p.data = []byte(`{"delta":""}`)
			default:
				n := min(len(rest), 1+r.IntN(20))
				p.data, rest = []byte(`{"delta":`+quote(rest[:n])+`}`), rest[n:]
			}
			failed = f.add(p)
		}
		if failed == nil {
			failed = f.end()
		}
		half := len(key)/2 + 3
		if form == "PHP" || form == ".NET" || form == "HTML" {
			half += len(key) - len(echoedKey) // a few characters are escaped, all in one half
		}
		if failed == nil || strings.Contains(got, key[:half]) || strings.Contains(got, key[len(key)-half:]) {
			t.Fatalf("%s: %v, the client has got %q", form, failed, got)
		}
	}
}

// TestPiecesPass makes turns of pieces that are much like the key: all of them pass, in their
// order, none is left behind.
func TestPiecesPass(t *testing.T) {
	g, err := New(Config{Upstream: &url.URL{Scheme: "http", Host: "localhost"}, Key: echoedKey})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	r := rand.New(rand.NewPCG(1, 2))
	held := 0
	for range testload.Rounds(t, "", 3000, 3000) {
		var want, got []string
		s := &session{}
		f := g.withoutKey(s, func(p part) error {
			got = append(got, p.event+string(p.data))
			return nil
		})
		for range r.IntN(12) {
			p := part{event: []string{"text_delta", "thinking_delta", "text", "tool_result"}[r.IntN(4)]}
			from := r.IntN(3) * r.IntN(len(echoedKey)-8)
			from = min(from, len(echoedKey)-8)
			text := echoedKey[from : from+r.IntN(9)]
			switch p.event {
			case "tool_result":
				p.kind, p.data = partResult, []byte(`{"toolCallId":"a","content":"x"}`)
			case "text":
				p.data = []byte(`{"text":` + quote(text) + `}`)
			default:
				p.data = []byte(`{"delta":` + quote(text) + `}`)
			}
			want = append(want, p.event+string(p.data))
			if err := f.add(p); err != nil {
				want = nil
				break
			}
			if len(got) < len(want) {
				held++
			}
		}
		if want == nil {
			continue
		}
		if err := f.end(); err != nil {
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-said +passed on):\n%s", diff)
		}
	}
	if held < 100 {
		t.Errorf("only %d pieces were held back", held)
	}
}

// TestKeyInValues cuts the key between two blocks of a result, two members of an input, two
// results, and blocks of different kinds: the client gets less than half of it, in all modes.
func TestKeyInValues(t *testing.T) {
	s := newEchoServer(t, echoedKey)
	type event struct{ name, data string }
	call := func(id, input string) event {
		return event{"tool_call", `{"toolCallId":"` + id + `","name":"dep","input":` + input + `}`}
	}
	result := func(id, content string) event {
		return event{"tool_result", `{"toolCallId":"` + id + `","content":` + content + `}`}
	}
	for name, events := range map[string]func(a, b string) []event{
		"blocks of a result": func(a, b string) []event {
			return []event{call("c", "{}"), result("c", `[{"type":"text","text":`+a+`},{"type":"text","text":`+b+`}]`)}
		},
		"members of an input": func(a, b string) []event {
			return []event{call("c", `{"a":`+a+`,"b":`+b+`}`), result("c", `"x"`)}
		},
		"two results": func(a, b string) []event {
			return []event{call("c", "{}"), result("c", a), call("d", "{}"), result("d", b)}
		},
		"two inputs": func(a, b string) []event {
			return []event{call("c", `[`+a+`]`), result("c", `"x"`), call("d", `{"x":`+b+`}`), result("d", `"x"`)}
		},
		"an input and another result": func(a, b string) []event {
			return []event{call("c", `[`+a+`]`), result("c", b)}
		},
	} {
		for _, mode := range []string{"delta", "message", "none"} {
			for i := range len(echoedKey) + 1 {
				s.session()
				s.turn = func(mode string) string {
					var stream, blocks, messages []string
					for _, e := range events(quote(echoedKey[:i]), quote(echoedKey[i:])) {
						stream = append(stream, "event: "+e.name+"\ndata: "+e.data+"\n\n")
						if e.name == "tool_call" {
							blocks = append(blocks, `{"role":"assistant","content":[{"type":"tool_use",`+e.data[1:]+`]}`)
						} else {
							messages = append(messages, `{"role":"tool",`+e.data[1:])
						}
					}
					if mode == "none" {
						return `{"stopReason":"end_turn","messages":[` + strings.Join(append(blocks, messages...), ",") + `]}`
					}
					return "event: turn_start\ndata: {}\n\n" + strings.Join(stream, "") + "event: turn_stop\ndata: {\"stopReason\":\"end_turn\"}\n\n"
				}
				code, got := s.says(mode)
				half := len(echoedKey)/2 + 1
				if strings.Contains(got, echoedKey[:half]) || strings.Contains(got, echoedKey[len(echoedKey)-half:]) || i > 0 && i < len(echoedKey) && strings.Contains(got, quote(echoedKey[i:])) && strings.Contains(got, quote(echoedKey[:i])) {
					t.Fatalf("%s, %s, cut %d: the client gets %s", name, mode, i, got)
				}
				if code == http.StatusOK && !strings.Contains(got, `"stopReason":"error"`) {
					t.Fatalf("%s, %s, cut %d: the turn is complete: %s", name, mode, i, got)
				}
			}
		}
	}
}

// TestKeyInBlocks cuts the key between a text and the input of a call of one message.
func TestKeyInBlocks(t *testing.T) {
	s := newEchoServer(t, echoedKey)
	for _, mode := range []string{"delta", "message", "none"} {
		for i := range len(echoedKey) {
			s.session()
			text, input := quote(echoedKey[:i]), quote(echoedKey[i:])
			call := `"toolCallId":"c","name":"dep","input":[` + input + `]}`
			s.turn = func(mode string) string {
				if mode == "none" {
					return `{"stopReason":"tool_use","messages":[{"role":"assistant","content":[{"type":"text","text":` + text + `},{"type":"tool_use",` + call + `]}]}`
				}
				event := map[string]string{"delta": "text_delta\ndata: {\"delta\":", "message": "text\ndata: {\"text\":"}[mode]
				return "event: turn_start\ndata: {}\n\nevent: " + event + text + "}\n\nevent: tool_call\ndata: {" + call + "\n\nevent: turn_stop\ndata: {\"stopReason\":\"tool_use\"}\n\n"
			}
			code, got := s.says(mode)
			if strings.Contains(got, input) || code == http.StatusOK && !strings.Contains(got, `"stopReason":"error"`) {
				t.Fatalf("%s, cut %d: the client gets %s", mode, i, got)
			}
		}
	}
}
