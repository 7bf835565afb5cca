package proxy

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16le is a text in the encoding that Windows prefers.
func utf16le(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

// TestLoose: a line that permd cannot read, but a more tolerant client could, is
// not passed on. Each would make the client start a program without a question.
func TestLoose(t *testing.T) {
	const gate = `{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s1","command":"x"}}`
	for name, line := range map[string]string{
		"comment in front":       "/*x*/" + gate,
		"comment inside":         `{"jsonrpc":"2.0",/*x*/"id":3,"method":"terminal/create","params":{}}`,
		"comment behind":         gate + " // x",
		"trailing comma":         `{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{},}`,
		"keys without quotes":    `{jsonrpc:"2.0",id:3,method:"terminal/create",params:{}}`,
		"single quotes":          `{'jsonrpc':'2.0','id':3,'method':'terminal/create','params':{}}`,
		"other separator":        `x{method=terminal/create}`,
		"byte order mark":        "\ufeff" + gate,
		"NUL":                    "\x00" + gate,
		"control character":      "\x1e" + gate,
		"garbage in front":       "ready> " + gate,
		"length in front":        fmt.Sprintf("Content-Length: %d %s", len(gate), gate),
		"event in front":         "data: " + gate,
		"garbage behind":         gate + " x",
		"two on a line":          gate + gate,
		"behind another value":   "1 " + gate,
		"behind text and return": "ready\r" + gate,
		"in a list":              "[" + gate + "]",
		"in a list with comment": "[/*x*/" + gate + "]",
		"in a text":              `"` + strings.ReplaceAll(gate, `"`, `\"`) + `"`,
		"in a function":          "callback(" + gate + ")",
		"UTF-16":                 utf16le(gate),
		"UTF-16 with a mark":     "\xff\xfe" + utf16le(gate),
		"the rest comes later":   "/**/{",
		"a text, the rest later": "ready { ",
	} {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(line)
		k.want(clientSide)
		if len(k.says) != 1 || !strings.Contains(k.says[0], "not passed on") {
			t.Errorf("%s: the person was shown %q", name, k.says)
		}
		// The agent's next message is read as usual.
		k.agent(strings.Replace(gate, "terminal/create", "terminal/output", 1))
		k.want(clientSide, strings.Replace(gate, "terminal/create", "terminal/output", 1))
	}
}

// TestPrinted: text that agents print by mistake neither breaks the conversation
// nor causes a question, whether it is passed on or not.
func TestPrinted(t *testing.T) {
	for line, passes := range map[string]bool{
		"Loading configuration ...":                   true,
		"[info] ready":                                true,
		"(node:1) ExperimentalWarning: fetch":         true,
		"https://x.example/a?b=c":                     true,
		"\x1b[32mready\x1b[0m {1}":                    true,
		"matched {} of {a,b}":                         true,
		`{"level":30,"time":1,"msg":"ready"}`:         true, // an empty message
		"":                                            true,
		"listening { port: 80 }":                      false,
		"Error: ENOENT { errno: -2, code: 'ENOENT' }": false,
		"INFO agent{id=1}: ready":                     false,
	} {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.acts = nil
		k.agent(line)
		if got := k.sent(clientSide); (len(got) == 1) != passes || passes && got[0] != line {
			t.Errorf("%q: the client was sent %q", line, got)
		}
		if len(k.sent(agentSide)) != 0 || len(k.acts) != 0 || (len(k.says) == 0) != passes {
			t.Errorf("%q: permd was sent %v, the person %q", line, k.acts, k.says)
		}
	}
}

// TestPrintedALot: many such lines are reported only rarely.
func TestPrintedALot(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	for range 1 << 10 {
		k.agent("debug { a: 1 }")
	}
	k.want(clientSide)
	if n := len(k.says); n < maxDroppedPrinted+1 || n > maxDroppedPrinted+10 {
		t.Errorf("%d reports: %q", n, k.says)
	}
}
