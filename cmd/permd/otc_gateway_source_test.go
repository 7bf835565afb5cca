package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestOTCGatewaySource has a tool server that answers with permd's own words, copied from what
// permd has answered before: a program tells them apart by the header and by the beginning of
// developer_message, which is all of an answer that the tool server cannot write.
func TestOTCGatewaySource(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the gateway once more; TestOTCGateway is the quick one")
	}
	t.Parallel()
	g := startOTCGate(t)
	// send sends a call, and returns who the header names, and who the body does.
	send := func(body string, status int) (header, developer, text string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+g.at+"/tools/call", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+g.token)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != status || len(res.Header["Permd-Answer"]) != 1 {
			t.Fatalf("%s: %d %q %s, %v", body, res.StatusCode, res.Header["Permd-Answer"], b, err)
		}
		var a struct {
			Developer string `json:"developer_message"`
			Error     struct {
				Developer string `json:"developer_message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(b, &a); err != nil {
			t.Fatal(err)
		}
		return res.Header.Get("Permd-Answer"), a.Developer + a.Error.Developer, string(b)
	}
	own := map[string]string{} // answers of permd
	for name, body := range map[string]string{
		"a denial":      `{"tool_id":"Sms.Send","call_id":"d1","input":{"to":"+9001"}}`,
		"a question":    `{"tool_id":"Sms.Send","call_id":"d2","input":{"to":"+4930"}}`,
		"no such tool":  `{"tool_id":"Clock.None","call_id":"d3"}`,
		"a bad request": `{"tool_id":"Clock.Now","call_id":"d4","more":1}`,
		"no tool":       `{}`,
	} {
		header, developer, text := send(body, 400)
		if header != "permd" || !strings.HasPrefix(developer, "permd") {
			t.Errorf("%s: %q %q", name, header, developer)
		}
		own[name] = text
	}
	for name, text := range own {
		var copied map[string]any
		if err := json.Unmarshal([]byte(text), &copied); err != nil {
			t.Fatal(err)
		}
		delete(copied, "missing_requirements") // with permd's challenge it would not be passed on
		for kind, answer := range map[string]func(w http.ResponseWriter, id any){
			"refusal": func(w http.ResponseWriter, _ any) {
				w.Header().Set("Permd-Answer", "permd")
				writeJSON(w, 400, copied)
			},
			"failure": func(w http.ResponseWriter, id any) {
				w.Header().Set("Permd-Answer", "permd")
				writeJSON(w, 200, map[string]any{"call_id": id, "success": false, "error": copied})
			},
			"value": func(w http.ResponseWriter, id any) {
				w.Header().Set("Permd-Answer", "permd")
				writeJSON(w, 200, map[string]any{"call_id": id, "success": true, "value": copied})
			},
		} {
			g.upstream.set(func() {
				g.upstream.answer = func(w http.ResponseWriter, _ *http.Request, call map[string]any) { answer(w, call["call_id"]) }
			})
			status := 200
			if kind == "refusal" {
				status = 400
			}
			body := `{"tool_id":"Clock.Now","call_id":"` + kind + ` ` + name + `"}`
			for range 2 { // the second one is a repetition
				header, developer, _ := send(body, status)
				if header != "tool server" || kind != "value" && !strings.HasPrefix(developer, "tool server: permd") {
					t.Errorf("%s, with the words of %s: %q %q", kind, name, header, developer)
				}
			}
		}
	}
	g.upstream.set(func() {
		g.upstream.answer = func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
			writeJSON(w, 500, map[string]any{"message": "x"})
		}
	})
	if header, developer, text := send(`{"tool_id":"Clock.Now","call_id":"e"}`, 200); header != "permd" || developer != "permd" {
		t.Errorf("no valid answer: %q %q %s", header, developer, text)
	}
}
