package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTemplate(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no marker", "a", "a"},
		{"both, twice", idMarker + " a" + argumentMarker + argumentMarker + "b" + idMarker, "10000002 a1000000110000001b10000002"},
	} {
		made := newTemplate(c.text)
		if got := string(made.append(nil, 10_000_001, 10_000_002)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRequests says that requests are what they are called: one line of JSON each, all of a
// kind as long as each other, and as long as their size says.
func TestRequests(t *testing.T) {
	for _, kind := range kinds {
		for _, size := range []string{small, big} {
			made := newTemplate(line("m", params(toolCall(kind, size, "/p"))))
			a, b := made.append(nil, firstNumber, lastNumber), made.append(nil, lastNumber, firstNumber)
			if len(a) != len(b) || bytes.Equal(a, b) || bytes.Count(a, []byte("\n")) != 1 || !json.Valid(a) {
				t.Errorf("%s, %s: %s", kind, size, a)
			}
			if least, most := map[string]int{small: 100, big: bigBytes * 9 / 10}[size], map[string]int{small: 1000, big: bigBytes * 11 / 10}[size]; len(a) < least || len(a) > most {
				t.Errorf("%s, %s: %d bytes", kind, size, len(a))
			}
		}
	}
}

// TestDocuments says that the document of a call with another number is the same but for
// the number: OPA gets documents that are made by replacing it.
func TestDocuments(t *testing.T) {
	w, err := newWorld()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	var requests []string
	for _, kind := range kinds {
		request := params(toolCall(kind, small, w.project))
		requests = append(requests, request, string(withNumber([]byte(request), firstNumber)))
	}
	docs, err := documents(t.Context(), w.home, w.project, requests...)
	if err != nil {
		t.Fatal(err)
	}
	for i, kind := range kinds {
		marked, real := docs[2*i], docs[2*i+1]
		if diff := cmp.Diff(string(real), string(withNumber(marked, firstNumber))); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if kind != mcp && bytes.Equal(marked, real) { // the rules read no arguments of tools
			t.Errorf("%s: the document has no number: %s", kind, real)
		}
	}
}
