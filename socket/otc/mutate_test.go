package otc

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/mutate"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/sockettest"
)

// hostile are texts that an attacker may put anywhere.
var hostile = []string{
	"", "Ledger.PostEntry@2.1.0", "Ledger.PostEntry", "Ledger.Delete@2.1.0", "Ledger.PostEntry@2.1.0\u200b", "LEDGER_HMAC_KEY", "books-idp", "s",
	"\u202egnp.exe", "a\x00b", "\x1b[2J", "../../etc/passwd", "urn:oxp:9", strings.Repeat("x", 3<<10),
}

// Texts that must not appear in output: tokens, values of secrets and anything
// next to them, and the parts of addresses that are not the address.
var canaries = []string{"NOT-A-REAL-TOKEN-1", "NOT-A-REAL-SECRET-1", "NOT-A-REAL-QUERY-1", "NOT-A-REAL-EXTRA-1", "NOT-A-REAL-URL-1"}

// whole is a message with all possible members, and with canaries wherever one can
// be.
func whole(t testing.TB) map[string]any {
	t.Helper()
	var doc map[string]any
	decode(t, sockettest.Sample(t, "02-call-tool.request.enveloped.json"), &doc)
	var tool map[string]any
	decode(t, sockettest.Sample(t, "01-tool-definition.json"), &tool)
	tool["requirements"].(map[string]any)["authorization"].([]any)[0].(map[string]any)["oauth2"].(map[string]any)["url"] = canaries[4]
	tool["callback"] = "https://x.example/?" + canaries[2]
	doc["tool"] = tool
	doc["sessionId"] = "s"
	doc["endpoint"] = "https://me:" + canaries[0] + "@tools.example/v1?key=" + canaries[2] + "#" + canaries[2]
	call := doc["request"].(map[string]any)
	call["trace_id"] = "tr-51"
	context := call["context"].(map[string]any)
	context["extra"] = map[string]any{"token": canaries[3]}
	for _, list := range []string{"authorization", "secrets"} {
		entry := context[list].([]any)[0].(map[string]any)
		entry["refresh_token"], entry["nested"] = canaries[3], []any{map[string]any{"value": canaries[3]}}
	}
	return doc
}

// TestMutants changes a message with all members, and the samples, in every place.
// No mutant may run another call than the unchanged one, and no output may have a
// canary.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it asks about thousands of changed calls")
	}
	t.Parallel()
	docs := map[string]any{"whole": whole(t)}
	bare := mutate.DeepCopy(docs["whole"]).(map[string]any)
	for name, v := range bare["request"].(map[string]any) {
		bare[name] = v
	}
	delete(bare, "request")
	docs["bare"] = bare
	paths, err := filepath.Glob("testdata/0[2-5]-*.json")
	if err != nil || len(paths) != 4 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		var doc any
		decode(t, sockettest.Sample(t, filepath.Base(path)), &doc)
		docs[filepath.Base(path)] = doc
	}
	var list []mutate.Mutant
	for name, doc := range docs {
		list = append(list, mutate.Mutant{What: name, Doc: doc})
		for _, m := range mutate.Of(mutate.DeepCopy(doc), hostile) {
			list = append(list, mutate.Mutant{What: name + " " + m.What, Doc: m.Doc})
		}
	}
	d := newDaemon(t)
	d.verdicts["PostEntry"] = decisions.Allow
	conn := uint64(1)
	counts := map[Outcome]int{}
	for _, m := range list {
		text, err := json.Marshal(m.Doc)
		if err != nil {
			t.Fatal(err)
		}
		d.got = nil
		conn++
		d.connect(t, conn)
		v, err := d.Call(t, MethodCall, string(text))
		clean(t, m.What, string(v), fmt.Sprint(err), seen(d))
		if err != nil {
			counts["refused"]++
			if e, ok := errors.AsType[*socket.Error](err); !ok || e.Code != socket.CodeParams || len(e.Message) > 300 {
				t.Errorf("%s: %.200v", m.What, err)
			}
			continue
		}
		var a Answer
		decode(t, string(v), &a)
		counts[a.Outcome]++
		if a.Outcome != Run {
			continue
		}
		c := d.got[0].Call
		if c.Tool.Name != "PostEntry" || c.Defects != nil || a.Decision.Verdict != decisions.Allow {
			t.Errorf("%s: runs %+v", m.What, c)
		}
		// The allowed call is the one that a careless reader finds.
		said := m.Doc.(map[string]any)
		if inner, ok := said["request"].(map[string]any); ok {
			said = inner
		}
		for _, name := range []string{"input", "inputs"} {
			if v, ok := said[name]; ok && v != nil {
				want, _ := json.Marshal(v)
				if sumOf(want) != sumOf(c.Input) {
					t.Errorf("%s: %s is %s, read was %s", m.What, name, want, c.Input)
				}
			}
		}
		if want := said["tool_id"]; want != callID(c.Tool.Server, c.Tool.Name, c.Tool.Version) && want != "Ledger.PostEntry@2" {
			t.Errorf("%s: %v, read was %+v", m.What, want, c.Tool)
		}
	}
	t.Log(counts)
	if counts["refused"] < 500 || counts[Run] < 300 || counts[Ask] < 10 || counts[outcomeUnmet] < 20 || counts[outcomeInvalid] < 10 {
		t.Errorf("%v: it tests too little", counts)
	}
}

func callID(toolkit, name, version string) string {
	if version != "" {
		version = "@" + version
	}
	return toolkit + "." + name + version
}

// seen is everything that rules, memory and the log get of a call.
func seen(d *daemon) string {
	var b strings.Builder
	for _, r := range d.got {
		fmt.Fprintf(&b, "%+v %s %s", r, r.Call.Input, r.Call.Claims.Meta)
	}
	return b.String()
}

func clean(t *testing.T, what string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, c := range canaries {
			if strings.Contains(text, c) {
				t.Errorf("%s: %s in %.300s", what, c, text)
			}
		}
	}
}

// TestMalformed breaks the text itself in every place: the error reveals
// nothing of the surrounding text.
func TestMalformed(t *testing.T) {
	b, err := json.Marshal(whole(t))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for i := range text {
		if text[i] == '?' {
			continue // without it, the text after it would be the path
		}
		d := newDaemon(t)
		for what, broken := range map[string]string{
			"cut": text[:i], "doubled": text[:i] + text[i:i+1] + text[i:], "quoted": text[:i] + `"` + text[i:],
			"no UTF-8": text[:i] + "\xff" + text[i:], "escaped": text[:i] + `\` + text[i:], "without": text[:i] + text[i+1:],
		} {
			v, err := d.Call(t, MethodCall, broken)
			clean(t, fmt.Sprint(what, " at ", i), fmt.Sprint(err), string(v), seen(d))
			d.got = nil
		}
	}
}

// TestApproval: an address is passed on in the answer and appears nowhere else.
func TestApproval(t *testing.T) {
	doc := whole(t)
	doc["approval"] = map[string]any{"url": "https://x.example/{decisionId}?key=" + canaries[2], "checkUrl": "https://x.example/{decisionId}?" + canaries[2]}
	for _, m := range append(mutate.Of(mutate.DeepCopy(doc["approval"]), hostile), mutate.Mutant{Doc: doc["approval"]}) {
		doc["approval"] = m.Doc
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		d := newDaemon(t)
		_, err = d.Call(t, MethodCall, string(text))
		clean(t, m.What, fmt.Sprint(err), seen(d))
	}
}

func FuzzCall(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		f.Add(sockettest.Sample(f, filepath.Base(path)))
	}
	b, err := json.Marshal(whole(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(b))
	d := newDaemon(f)
	d.verdicts["PostEntry"] = decisions.Allow
	f.Fuzz(func(t *testing.T, params string) {
		v, err := d.Call(t, MethodCall, params)
		if err != nil {
			return
		}
		var a Answer
		decode(t, string(v), &a)
		if (a.Outcome == Run) != (a.Decision.Verdict == decisions.Allow && a.Response == nil) {
			t.Errorf("%s: %s", params, v)
		}
		for _, r := range d.got {
			if id, ok := parseToolID(callID(r.Call.Tool.Server, r.Call.Tool.Name, r.Call.Tool.Version)); !ok || id.name != r.Call.Tool.Name {
				t.Errorf("%s: %+v", params, r.Call.Tool)
			}
		}
		d.got = nil
	})
}
