package masking

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/policy/source"
)

func compile(t testing.TB, rules string) (*Policy, error) {
	t.Helper()
	return Compile([]source.File{
		{Name: "log.rego", Rel: "log.rego", Data: []byte("package system.log\nimport rego.v1\n" + rules)},
		{Name: "blank.rego", Rel: "blank.rego", Data: []byte("# nothing\n")},
	}, DefaultMask, DefaultDrop)
}

const sample = `{"decision_id":"d","input":{"a":{"b":1,"c d":2,"e/f":3},"list":[1,[2,3],{"x":4}]},"result":{"verdict":"ask","text":"t"},"custom":{"permd":{"seq":1,"claimedTitle":"t"}}}`

// TestApply: masks are OPA's: paths or objects, below the parts of an event that they may
// reach.
func TestApply(t *testing.T) {
	for rules, want := range map[string]string{
		`mask contains "/input/a"`: `{"input":{"list":[1,[2,3],{"x":4}]},"erased":["/input/a"]}`,
		`mask contains "/input"`:   `{"erased":["/input"]}`,
		`mask contains p if some p in ["/input/a/c%20d", "/input/a/e~1f", "/input/none/x"]`:                     `{"input":{"a":{"b":1},"list":[1,[2,3],{"x":4}]},"erased":["/input/a/e~1f","/input/a/c%20d"]}`,
		`mask contains p if some p in ["/input/list/0", "/input/list/1/0", "/input/list/2/x", "/input/list/9"]`: `{"input":{"a":{"b":1,"c d":2,"e/f":3},"list":[[3],{}]},"erased":["/input/list/2/x","/input/list/1/0","/input/list/0"]}`,
		`mask contains {"op": "upsert", "path": "/input/a/b", "value": "x"}`:                                    `{"input":{"a":{"b":"x","c d":2,"e/f":3},"list":[1,[2,3],{"x":4}]},"masked":["/input/a/b"]}`,
		`mask contains {"op": "upsert", "path": "/input/a/e~1f", "value": null}`:                                `{"input":{"a":{"b":1,"c d":2,"e/f":null},"list":[1,[2,3],{"x":4}],"a":{"b":1,"c d":2,"e/f":null,"e~1f":null}}}`,
		`mask contains {"op": "upsert", "path": "/nd_builtin_cache/a", "value": 1}`:                             `{}`,
		`mask contains {"op": "upsert", "path": "/input/new/deep", "value": 1}`:                                 `{"input":{"a":{"b":1,"c d":2,"e/f":3},"list":[1,[2,3],{"x":4}],"new":{"deep":1}},"masked":["/input/new/deep"]}`,
		"mask contains {\"op\": \"upsert\", \"path\": \"/input/a\", \"value\": 1}\nmask contains \"/input/a\"":  `{"input":{"list":[1,[2,3],{"x":4}]},"masked":["/input/a"],"erased":["/input/a"]}`,
		`mask := ["/input/a", "/input/list"]`:                                                                   `{"input":{},"erased":["/input/list","/input/a"]}`,
		`mask contains "/input/a" if input.result.verdict == "allow"`:                                           `{}`,
		`drop if input.result.verdict == "ask"`:                                                                 "dropped",
		`drop := "yes"`:                                                                                         `{}`,
		`other := 1`:                                                                                            `{}`,
		`mask contains p if some p in ["/input/list/9/x", "/nd_builtin_cache/a/b"]`:                             `{}`,
		// What is refused.
		`mask contains "/result/text/x"`:                                       `error: nothing can be removed at "/result/text/x": a part of the path is no object, or no array`,
		`mask contains "/input/list/x"`:                                        `error: nothing can be removed at "/input/list/x"`,
		`mask contains "/input/a/b/c/d"`:                                       `error: nothing can be removed at "/input/a/b/c/d"`,
		`mask contains {"op": "upsert", "path": "/input/list/x", "value": 1}`:  `error: nothing can be put at "/input/list/x"`,
		`mask contains "/decision_id"`:                                         "error: a mask has the path",
		`mask contains "input/a"`:                                              "error: a mask has the path",
		`mask contains "/input//a"`:                                            "error: a mask has the path",
		`mask contains 7`:                                                      "error: an element of the mask is number",
		`mask := "x"`:                                                          "error: the mask is string",
		`mask contains {"path": "/input/a"}`:                                   "error: an element of the mask has no op",
		`mask contains {"op": "replace", "path": "/input/a"}`:                  "error: an element of the mask has a member",
		`mask contains {"op": "upsert", "path": "/result/text/x", "value": 1}`: "error: nothing can be put",
		`mask contains "/input/a" if 1 / 0 == 1`:                               "error: evaluating what is masked",
		`drop if to_number(input.result.verdict) == 1`:                         "error: evaluating what is dropped",
		"mask := {\"/input/a\"}\nmask := {\"/input/list\"} if input.input.a":   "error: ",
	} {
		p, err := compile(t, rules)
		if err != nil {
			t.Errorf("%s: %v", rules, err)
			continue
		}
		var event, wanted map[string]any
		if err := json.Unmarshal([]byte(sample), &event); err != nil {
			t.Fatal(err)
		}
		dropped, err := p.Apply(t.Context(), event, time.Now())
		switch prefix, isError := strings.CutPrefix(want, "error: "); {
		case isError:
			if err == nil || !strings.Contains(err.Error(), prefix) {
				t.Errorf("%s: %v, want %s", rules, err, prefix)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", rules, err)
			continue
		case want == "dropped" || dropped:
			if !dropped || want != "dropped" {
				t.Errorf("%s: dropped: %t", rules, dropped)
			}
			continue
		}
		if strings.Contains(want, "e~1f\":null") {
			if got := event["input"].(map[string]any)["a"].(map[string]any)["e/f"]; got != nil {
				t.Errorf("%s: %v", rules, got)
			}
			continue
		}
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		for name, v := range map[string]any{"decision_id": event["decision_id"], "result": event["result"], "custom": event["custom"]} {
			wanted[name] = v
		}
		if _, ok := wanted["input"]; !ok && wanted["erased"] == nil {
			wanted["input"] = event["input"]
		}
		a, _ := json.Marshal(event, json.Deterministic(true))
		b, _ := json.Marshal(wanted, json.Deterministic(true))
		if string(a) != string(b) {
			t.Errorf("%s:\n%s, want\n%s", rules, a, b)
		}
	}
}

// TestRefused: what could reach the world or is no policy does not compile.
func TestRefused(t *testing.T) {
	for rules, want := range map[string]string{
		`mask contains http.send({"url": "http://x"}).body`: "http.send",
		`mask contains opa.runtime().env.HOME`:              "opa.runtime",
		`mask contains`:                                     "log.rego",
		`mask contains x`:                                   "unsafe",
	} {
		if _, err := compile(t, rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rules, err)
		}
	}
	if p, err := Compile(nil, DefaultMask, DefaultDrop); p != nil || err != nil {
		t.Errorf("without files: %v, %v", p, err)
	}
	files := []source.File{{Name: "x.rego", Rel: "x.rego", Data: []byte("package x\n")}}
	if _, err := Compile(files, "/", DefaultDrop); err == nil {
		t.Error("a decision without a path was accepted")
	}
}

// TestEndless: a policy that takes for ever is cut, with an error.
func TestEndless(t *testing.T) {
	p, err := compile(t, `mask contains "/input" if { some a in input.input.list; some b in input.input.list; a + b < 0 }`)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]any, 20_000)
	for i := range list {
		list[i] = float64(i)
	}
	if _, err := p.Apply(t.Context(), map[string]any{"input": map[string]any{"list": list}}, time.Now()); err == nil {
		t.Error("it ended without an error")
	}
}

// FuzzMask: whatever path is masked, nothing panics, what is not maskable stays, and what was
// removed by its own name is gone.
func FuzzMask(f *testing.F) {
	for _, path := range []string{"/input/a/b", "/input/list/1/0", "/custom/permd", "/input/a/c%20d", "/input/list/-1", "/result/~0~1"} {
		f.Add(path, true)
		f.Add(path, false)
	}
	f.Fuzz(func(t *testing.T, path string, upsert bool) {
		var event map[string]any
		if err := json.Unmarshal([]byte(sample), &event); err != nil {
			t.Fatal(err)
		}
		r := rule{path: path, upsert: upsert, value: "masked"}
		rest, ok := strings.CutPrefix(path, "/")
		if !ok || !strings.HasPrefix(rest, "input/") {
			return
		}
		r.steps = strings.Split(rest, "/")
		_ = r.apply(event)
		if event["decision_id"] != "d" || event["result"] == nil {
			t.Errorf("%q: %v", path, event)
		}
		if upsert {
			return
		}
		var at any = event
		for i, part := range r.steps {
			m, ok := at.(map[string]any)
			if !ok {
				return
			}
			v, there := m[part]
			if there && i == len(r.steps)-1 {
				t.Errorf("%q is still there", path)
			}
			at = v
		}
	})
}
