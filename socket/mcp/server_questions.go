package mcp

import (
	"strings"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

// asksForMore reports whether a result is none yet: the server asks for more.
func asksForMore(result strictjson.Value) bool {
	kind, _ := strictjson.ParseString(strictjson.Find(result, "resultType"))
	return kind == "input_required"
}

// passRound passes the questions of a server on, if they are about a call that may have some.
func (g *gateway) passRound(m *message, r *request) error {
	questions, next, why := g.readRound(m.result, r)
	if why != "" {
		why = "the server's questions cannot be passed on " + mayHaveRun + ": " + why
		g.cfg.Say(why)
		return g.refuse(m.id, codeInternal, why)
	}
	text := questions + `,"requestState":` + quote(g.addRound(next))
	if meta := strictjson.Find(m.result, "_meta"); strictjson.Kind(meta) == '{' {
		text += `,"_meta":` + string(meta)
	}
	line, err := oneLine([]byte(`{"jsonrpc":"2.0","id":` + m.id + `,"result":{"resultType":"input_required"` + text + `}}`))
	if err != nil {
		return g.refuse(m.id, codeInternal, errNotJSON.Error())
	}
	return g.client.write(line)
}

// readRound reads a result in which a server asks for more. It returns the member inputRequests.
func (g *gateway) readRound(result strictjson.Value, r *request) (text string, next *round, why string) {
	o, err := strictjson.ParseObject(result)
	if err != nil || o.NearMiss("resultType", "inputRequests", "requestState") != "" {
		return "", nil, "they cannot be read in exactly one way"
	}
	c := r.call
	next = &round{call: c.identity(), expires: time.Now().Add(roundTimeout), yes: c.said, rounds: c.rounds + 1}
	if next.rounds > maxInRequest {
		return "", nil, "there are too many about one call"
	}
	state, hasState := o.Get("requestState")
	if hasState {
		if next.state = string(state); strictjson.Kind(state) != '"' || len(state) > maxServerState {
			return "", nil, "the requestState is no string, or too long"
		}
	}
	requests, hasRequests := o.Get("inputRequests")
	if !hasRequests {
		if !hasState {
			return "", nil, "there are none"
		}
	} else {
		list, err := strictjson.ParseObject(requests)
		if err != nil || len(list) > maxQuestions {
			return "", nil, "they are no object, or too many"
		}
		parts := make([]string, len(list))
		for i, m := range list {
			if len(m.Name) > maxID {
				return "", nil, "the name of one is too long"
			}
			if parts[i], why = g.question(m.Value, r.meta); why != "" {
				return "", nil, why
			}
			parts[i] = quote(m.Name) + ":" + parts[i]
			next.keys = append(next.keys, m.Name)
			next.size += len(m.Name)
		}
		text = `,"inputRequests":{` + strings.Join(parts, ",") + "}"
	}
	next.size += len(next.state) + len(next.yes)
	return text, next, ""
}

// question returns a question of the server as it is passed on, or why it cannot be: the client
// has to be capable of it, and a form has to say who asks.
func (g *gateway) question(v strictjson.Value, can *requestMeta) (text, why string) {
	o, err := strictjson.ParseObject(v)
	if err != nil || o.NearMiss("method", "params") != "" {
		return "", "one cannot be read in exactly one way"
	}
	name, _ := o.Get("method")
	method, _ := strictjson.ParseString(name)
	v, _ = o.Get("params")
	if strictjson.Kind(v) != '{' && (method != methodListRoots || v != nil) {
		return "", "one has no params"
	}
	params := string(v)
	allowed := false
	switch method {
	case methodElicit:
		mode, has := "form", strictjson.Find(v, "mode")
		if has != nil {
			mode, _ = strictjson.ParseString(has)
		}
		allowed = mode == "form" && can.forms || mode == "url" && can.urls
		if params, why = signParams(g.cfg.Server, v); why != "" {
			return "", why
		}
	case methodSample:
		allowed = can.mayBeAsked(v)
	case methodListRoots:
		allowed = can.roots
	}
	if !allowed {
		return "", "the client has not said that it is capable of one"
	}
	text = `{"method":` + quote(method)
	if v != nil {
		text += `,"params":` + params
	}
	return text + "}", ""
}

// mayBeAsked reports whether the client can have its model asked with these params.
func (meta *requestMeta) mayBeAsked(params strictjson.Value) bool {
	o, err := strictjson.ParseObject(params)
	if err != nil || !meta.sampling || o.NearMiss("tools", "toolChoice", "includeContext") != "" {
		return false
	}
	_, tools := o.Get("tools")
	_, choice := o.Get("toolChoice")
	with, context := o.Get("includeContext")
	if s, _ := strictjson.ParseString(with); s == "none" {
		context = false
	}
	return (!tools && !choice || meta.samplingTools) && (!context || meta.samplingContext)
}
