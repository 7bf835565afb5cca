package mcp

import (
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// revisions are those of the protocol that the gateway passes on, the oldest first. Others may
// have calls that look otherwise.
var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// metaRevision is the member of _meta with which a client says of which revision one request is,
// since 2026-07-28. Requests of older ones do not have it.
const metaRevision = "io.modelcontextprotocol/protocolVersion"

// codeRevision is the code of the error for a request of another revision.
const codeRevision = -32022

// otherRevision reports whether a message of the client is of a revision that the gateway does
// not pass on. The search for a server (server/discover) is left to be refused as a method that
// there is not, after which a client begins as older ones do.
func otherRevision(m *message) bool {
	return m.method != methodDiscover && len(strictjson.Find(m.params, "_meta", metaRevision)) > 0
}

// refuseRevision answers a request of another revision. Of a notification there is nobody to tell.
func (g *gateway) refuseRevision(m *message) error {
	if m.id == "" {
		return nil
	}
	text, err := oneLine([]byte(`{"jsonrpc":"2.0","id":` + m.id + `,"error":{"code":` + strconv.Itoa(codeRevision) + `,"message":"permd: this revision of the protocol is not supported","data":{"supported":["` +
		strings.Join(revisions, `","`) + `"],"requested":` + string(strictjson.Find(m.params, "_meta", metaRevision)) + `}}}`))
	if err != nil {
		return err
	}
	return g.client.write(text)
}

// unsupported returns why the client cannot be given a result, "" if it can: the server has
// chosen a revision that the gateway does not know, or the result is none yet but has questions
// to the person, which do not say who asks.
func unsupported(method string, result strictjson.Value) (why string) {
	if method == methodInitialize {
		if revision, _ := strictjson.ParseString(strictjson.Find(result, "protocolVersion")); !slices.Contains(revisions, revision) {
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
		return "the server's result asks for more before it is complete, which no revision does that permd knows"
	}
	return ""
}
