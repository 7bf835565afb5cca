package aap

import (
	"strings"
	"unicode"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/toolserver"
)

// permissionsParams are the params of aap/permissions. Members not named in
// these types are not read: descriptions, schemas, options with their secrets.
type permissionsParams struct {
	SessionID string           `json:"sessionId"`
	Endpoint  string           `json:"endpoint"`
	Agent     agentWire        `json:"agent"`
	Tools     []toolWire       `json:"tools"`
	Meta      strictjson.Value `json:"meta"`
	Turn      strictjson.Value `json:"turn"`
	History   strictjson.Value `json:"history"`
	BatchID   string           `json:"batchId"`
}

type agentWire struct {
	Name  string     `json:"name"`
	Tools []toolWire `json:"tools"` // nil if absent
}

type toolWire struct {
	Name  string `json:"name"`
	Trust bool   `json:"trust"`
}

type metaWire struct {
	Version *int `json:"version"`
	Agents  []struct {
		Name    string     `json:"name"`
		Version string     `json:"version"`
		Tools   []toolWire `json:"tools"`
	} `json:"agents"`
}

// parties are the participants of a turn, and the owners of its tools.
type parties struct {
	agent, version string
	endpoint       string
	client         map[string]bool
	// server are the tools that the server was told to use, exposed those that the client
	// has too; either may be nil if it is not known.
	server, exposed map[string]bool
	trusted         map[string]bool // those of server that it may run without asking
}

// readParties reads the participants.
func (p *permissionsParams) readParties() (*parties, error) {
	if err := socket.CheckName("agent.name", p.Agent.Name); err != nil {
		return nil, err
	}
	w := &parties{agent: p.Agent.Name}
	var err error
	if w.endpoint, err = toolserver.Address(p.Endpoint); err != nil {
		return nil, socket.Refuse("endpoint %v", err)
	}
	if w.client, err = toolSet("tools", p.Tools); err != nil {
		return nil, err
	}
	if p.Agent.Tools != nil {
		if w.server, err = toolSet("agent.tools", p.Agent.Tools); err != nil {
			return nil, err
		}
		w.trusted = map[string]bool{}
		for _, t := range p.Agent.Tools {
			w.trusted[t.Name] = t.Trust
		}
	}
	if k := strictjson.Kind(p.Meta); k != 0 && k != 'n' {
		return w, w.readMeta(p.Meta)
	}
	return w, nil
}

// readMeta reads which tools the agent has.
func (w *parties) readMeta(v strictjson.Value) error {
	var m metaWire
	if err := socket.ReadParams("meta", v, &m); err != nil {
		return err
	}
	if m.Version == nil || *m.Version != version {
		return socket.Refuse("meta.version is not %d, the version of the protocol that permd reads", version)
	}
	found := false
	for _, a := range m.Agents {
		if a.Name != w.agent {
			continue
		}
		if found {
			return socket.Refuse("meta.agents holds the agent twice")
		}
		found = true
		if len(a.Version) > socket.MaxName {
			return socket.Refuse("the version of an agent in meta is longer than %d bytes", socket.MaxName)
		}
		w.version = a.Version
		var err error
		if w.exposed, err = toolSet("the tools of the agent in meta", a.Tools); err != nil {
			return err
		}
	}
	if !found {
		return socket.Refuse("meta.agents does not hold the agent")
	}
	return nil
}

func toolSet(what string, list []toolWire) (map[string]bool, error) {
	if len(list) > maxTools {
		return nil, socket.Refuse("%s: more than %d tools", what, maxTools)
	}
	set := make(map[string]bool, len(list))
	for _, t := range list {
		if err := socket.CheckName("the name of a tool in "+what, t.Name); err != nil {
			return nil, err
		}
		if set[t.Name] {
			return nil, socket.Refuse("%s: a name stands twice", what)
		}
		set[t.Name] = true
	}
	return set, nil
}

// side says who runs a tool.
type side string

const (
	client side = "client"
	server side = "server"
)

// Reasons for denying calls without consulting rules, and for skipping them; they are
// sent to the model. Reasons for needing a person are shown only to the person.
const (
	whyBoth     = "the client and the server both have a tool of this name"
	whyAlike    = "its name differs from that of a tool of the client only by case or blanks"
	whyOther    = "the id of this call was also used for another call"
	whyContrary = "the turn and the session's history disagree about this call"
	whyFinished = "a call with this id already has its result"
	whySkip     = "it has its result"
	whySkipHere = "the client's own result is there"
	whyAnswered = "a permission for this call was given before: it may have run"
	whyNoInput  = "the call's input is missing"
	whyBadInput = "the call's input is no object"
)

// origin determines whose tool a name is; why is set if that is a reason to deny the
// call.
func (w *parties) origin(name string) (of side, why string) {
	switch {
	case w.client[name] && (w.server[name] || w.exposed[name]):
		return client, whyBoth
	case w.client[name]:
		return client, ""
	case w.resemblesClients(name) && !w.server[name] && !w.exposed[name]:
		return server, whyAlike
	}
	return server, ""
}

// resemblesClients reports whether a name differs from that of a tool of the client only by
// case, blanks or characters that are not seen: a client may take it for its own.
func (w *parties) resemblesClients(name string) bool {
	plain := withoutBlanks(name)
	call := strictjson.Object{{Name: plain}}
	for own := range w.client {
		if o := withoutBlanks(own); o == plain || call.NearMiss(o) != "" {
			return true
		}
	}
	return false
}

func withoutBlanks(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, name)
}

// serverTool returns a tool of the server. One that is missing in a known list may be the
// server's own, or none: nothing but the call's name says that there is one.
func (w *parties) serverTool(name string) effects.Tool {
	t := effects.Tool{Name: name, Server: w.agent, Source: w.endpoint, Trusted: w.trusted[name]}
	switch {
	case w.server != nil:
		t.Unlisted = !w.server[name]
	case w.exposed != nil:
		t.Unlisted = !w.exposed[name]
	}
	return t
}
