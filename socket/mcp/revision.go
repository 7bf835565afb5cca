package mcp

import (
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// revisions are those of the protocol that the gateway passes on, the oldest first. Others may
// have calls that look otherwise.
var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", statelessRevision}

// statelessRevision has no beginning: each request says for itself what its client is and can do.
const statelessRevision = "2026-07-28"

// metaRevision is the member of _meta with which a client says of which revision one request is,
// since 2026-07-28. Requests of older ones do not have it.
const metaRevision = "io.modelcontextprotocol/protocolVersion"

// codeRevision is the code of the error for a request of another revision.
const codeRevision = -32022

// codeHeaders is the code of a server's error for a request whose headers are not those that it
// wants, as it is written.
const codeHeaders = "-32020"

// namesRevision reports whether a message of the client says of which revision it is.
func namesRevision(m *message) bool { return len(strictjson.Find(m.params, "_meta", metaRevision)) > 0 }

// refuseRevision answers a request of another revision.
func (g *gateway) refuseRevision(m *message) error {
	text, err := oneLine([]byte(`{"jsonrpc":"2.0","id":` + m.id + `,"error":{"code":` + strconv.Itoa(codeRevision) + `,"message":"permd: this revision of the protocol is not supported","data":{"supported":["` +
		strings.Join(revisions, `","`) + `"],"requested":` + string(strictjson.Find(m.params, "_meta", metaRevision)) + `}}}`))
	if err != nil {
		return err
	}
	return g.client.write(text)
}

// unsupported returns why the client cannot be given a result of a revision with sessions, "" if
// it can: the server has chosen a revision that the gateway does not know, or the result is none
// yet but has questions to the person.
func unsupported(method string, result strictjson.Value) (why string) {
	if method == methodInitialize {
		if revision, _ := strictjson.ParseString(strictjson.Find(result, "protocolVersion")); !slices.Contains(revisions, revision) || revision == statelessRevision {
			return "the server has chosen a revision of the protocol that permd does not know"
		}
	}
	o, err := strictjson.ParseObject(result)
	if err != nil {
		return "" // it is no object, and so no such result
	}
	kind, typed := o.Get("resultType")
	text, _ := strictjson.ParseString(kind)
	_, asks := o.Get("inputRequests")
	if asks || typed && text != "complete" || o.NearMiss("resultType", "inputRequests") != "" {
		return "the server's result asks for more before it is complete, which no result does in the revision of the request"
	}
	return ""
}
