package docs

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

const openAPIFile = "../socket/httpapi/openapi.json"

// httpPath is a path that is served, as the table in protocol.md has it.
type httpPath struct {
	path, method, about string
	body, answer        string // definitions of protocol.schema.json
	params              string // of a method, whose session is declared in the body
	text                bool   // the answer is text
	holds               bool   // a client may wait for a person
}

var httpPaths = []httpPath{
	{path: "/v1/data/permd/decision", method: "post", about: "Decide one call, in the form of OPA's data API", body: "http.data.body", answer: "http.data.answer"},
	{path: "/v1/calls", method: "post", about: "Decide calls", body: "http.calls.body", answer: "http.calls.answer"},
	{path: "/v1/otc/call", method: "post", about: "Decide a call of Open Tool Calling", params: "otc.call.params", answer: "otc.call.result", holds: true},
	{path: "/v1/rap/invoke", method: "post", about: "Decide an invocation of the Reactive Agent Protocol", params: "rap.invoke.params", answer: "rap.invoke.result", holds: true},
	{path: "/v1/aap/permissions", method: "post", about: "Decide the calls of a turn of the Agent Application Protocol", params: "aap.permissions.params", answer: "aap.permissions.result", holds: true},
	{path: "/health", method: "get", about: "Whether decisions can be made", answer: "http.health.answer"},
	{path: "/metrics", method: "get", about: "Metrics in the text format of Prometheus", text: true},
	{path: "/openapi.json", method: "get", about: "This document"},
}

// httpFailures are the statuses that each path can have besides 200.
var httpFailures = map[string]string{
	"400": "The body can be read in two ways, or lacks a required member", "401": "No token, or the wrong one",
	"403": "A browser, a wrong Host, or a user who may not use this socket", "404": "No such path: a query is part of it", "405": "Another method",
	"408": "The body did not arrive in time", "413": "The body is too long", "415": "Not application/json, or compressed",
	"417": "An expectation other than 100-continue", "431": "The header is too long", "500": "Internal error", "501": "A transfer encoding other than chunked",
	"503": "A limit was reached, permd is shutting down, or it took too long", "505": "Not HTTP/1.1",
}

// httpPlain are the statuses without a body in JSON: those of requests whose header the
// server could not read, or does not serve.
var httpPlain = []string{"417", "431", "501"}

type object = map[string]any

// TestOpenAPI compares the document of HTTP with the schema of the protocol and the table
// of paths. -update writes it.
func TestOpenAPI(t *testing.T) {
	data, err := os.ReadFile(protocolSchema)
	if err != nil {
		t.Fatal(err)
	}
	// References lead to where the document has the definitions.
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(bytes.ReplaceAll(data, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`)), &schema); err != nil {
		t.Fatal(err)
	}
	components, paths := object{}, object{}
	var need func(name string)
	need = func(name string) {
		def, ok := schema.Defs[name]
		if !ok {
			t.Fatalf("the schema has no %s", name)
		}
		if components[name] != nil {
			return
		}
		components[name] = def
		text, _ := json.Marshal(def)
		for _, part := range strings.Split(string(text), `"#/components/schemas/`)[1:] {
			part, _, _ = strings.Cut(part, `"`)
			need(part)
		}
	}
	ref := func(name string) object {
		need(name)
		return object{"application/json": object{"schema": object{"$ref": "#/components/schemas/" + name}}}
	}
	for _, p := range httpPaths {
		ok := object{"description": "Decided, or as asked for"}
		switch {
		case p.text:
			ok["content"] = object{"text/plain": object{"schema": object{"type": "string"}}}
		case p.answer != "":
			ok["content"] = ref(p.answer)
		default:
			ok["content"] = object{"application/json": object{"schema": object{"type": "object"}}}
		}
		responses := object{"200": ok}
		for status, about := range httpFailures {
			failure := object{"description": about}
			if !slices.Contains(httpPlain, status) {
				failure["content"] = ref("http.error")
			}
			responses[status] = failure
		}
		operation := object{"summary": p.about, "responses": responses}
		if p.holds {
			text := object{"type": "string"}
			operation["parameters"] = []any{object{
				"name": "Prefer", "in": "header", "schema": text,
				"description": "wait=SECONDS: a question is left to permd allow for so long, at most an hour, before it is the answer (RFC 7240)",
			}}
			ok["headers"] = object{"Preference-Applied": object{"schema": text, "description": "wait=SECONDS, if the request was held for a person"}}
		}
		body := p.body
		if p.params != "" {
			body = strings.TrimSuffix(p.params, "params") + "body"
			schema.Defs[body] = withSession(t, schema.Defs[p.params])
		}
		if body != "" {
			schema.Defs[body] = orNull(t, schema.Defs[body])
			operation["requestBody"] = object{"required": true, "content": ref(body)}
		}
		paths[p.path] = object{p.method: operation}
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "permd over HTTP", "version": "1",
			"description": "What docs/protocol.md says of HTTP. A status other than 200 is no decision. Later versions add members to answers: clients ignore those that they do not know.",
		},
		"security":   []any{object{"token": []any{}}, object{}},
		"paths":      paths,
		"components": object{"schemas": components, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "The token of permd's token file; none on the Unix socket"}}},
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(doc); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(openAPIFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		if !*update {
			t.Errorf("%s is not what the schema says: write it with go test ./docs -run TestOpenAPI -update", openAPIFile)
		} else if err := os.WriteFile(openAPIFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	// The paths and statuses of protocol.md are those of the document.
	var listed []string
	for _, tab := range read(t, "protocol.md").find("path", "method", "what") {
		for _, row := range tab.rows {
			listed = append(listed, spans(row[0])[0]+" "+strings.ToLower(spans(row[1])[0]))
		}
	}
	var served []string
	for _, p := range httpPaths {
		served = append(served, p.path+" "+p.method)
	}
	slices.Sort(listed)
	slices.Sort(served)
	if !slices.Equal(listed, served) {
		t.Errorf("protocol.md has %q, the document %q", listed, served)
	}
	statuses := map[string]bool{}
	for _, tab := range read(t, "protocol.md").find("status", "meaning") {
		for _, row := range tab.rows {
			for _, s := range spans(row[0]) {
				statuses[s] = true
			}
		}
	}
	delete(statuses, "200")
	if got, want := slices.Sorted(maps.Keys(statuses)), slices.Sorted(maps.Keys(httpFailures)); !slices.Equal(got, want) {
		t.Errorf("protocol.md has the statuses %q, the document %q", got, want)
	}
}

// withSession returns the schema of a method's params with the declaration of the session in
// place of its id.
func withSession(t *testing.T, params any) any {
	t.Helper()
	var copied object
	text, err := json.Marshal(params)
	if err == nil {
		err = json.Unmarshal(text, &copied)
	}
	if err != nil {
		t.Fatal(err)
	}
	members, ok := copied["properties"].(object)
	if !ok || members["sessionId"] == nil {
		t.Fatalf("params without a session: %s", text)
	}
	delete(members, "sessionId")
	members["session"] = object{"$ref": "#/components/schemas/session"}
	if required, ok := copied["required"].([]any); ok {
		for i, name := range required {
			if name == "sessionId" {
				required[i] = "session"
			}
		}
	}
	return copied
}

// nullOverHTTP are the members that only bodies over HTTP have; permd reads null there as if
// they were absent, also where the others of the body are a method's params.
var nullOverHTTP = []string{"session", "callId", "runtimeContext", "permd"}

// orNull returns the schema of a body in which the members of nullOverHTTP may be null.
func orNull(t *testing.T, body any) any {
	t.Helper()
	var copied object
	text, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(text, &copied)
	}
	if err != nil {
		t.Fatal(err)
	}
	allowNull(copied)
	return copied
}

func allowNull(schema object) {
	required, _ := schema["required"].([]any)
	members, _ := schema["properties"].(object)
	for name, v := range members {
		member, ok := v.(object)
		if !ok || len(member) == 0 { // none, or anything
			continue
		}
		allowNull(member)
		if slices.Contains(nullOverHTTP, name) && !slices.Contains(required, any(name)) {
			members[name] = object{"anyOf": []any{member, object{"type": "null"}}}
		}
	}
	if items, ok := schema["items"].(object); ok {
		allowNull(items)
	}
}
