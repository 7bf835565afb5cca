package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// conductor plays the conductor of a chain, between a client and an agent
// behind permd. On its pipe to permd all ids are its own.
type conductor struct {
	prefix string
	ids    map[string]strictjson.Value // what the sides have in their place
}

func newConductor(prefix string) *conductor {
	return &conductor{prefix, map[string]strictjson.Value{}}
}

// id returns the conductor's id for a side's id.
func (c *conductor) id(of peerSide, id strictjson.Value) strictjson.Value {
	own := quoted(nil, of.String()+" "+key(id))
	c.ids[string(own)] = id
	return own
}

// says returns what permd sends when a side sends something.
func (c *conductor) says(from peerSide, said string) string {
	m, err := read([]byte(said))
	if err != nil {
		return said
	}
	o := m.object
	set := func(name string, v strictjson.Value) {
		var err error
		if o, err = strictjson.ParseObject(with(o, name, v)); err != nil {
			panic(err)
		}
	}
	switch {
	case m.answer():
		set("id", c.id(from.other(), m.id))
		return string(object(o...))
	case m.request():
		set("id", c.id(from, m.id))
	case m.method == methodCancelRequest:
		id := strictjson.Find(m.params, "requestId")
		set("params", strictjson.Value(strings.Replace(string(m.params), string(id), string(c.id(from, id)), 1)))
	}
	if from == clientSide {
		if m.method == methodInitialize {
			set("method", quoted(nil, c.prefix+"initialize"))
		}
		return string(object(o...))
	}
	inner := slices.DeleteFunc(slices.Clone(o), func(m strictjson.Member) bool { return m.Name == "jsonrpc" || m.Name == "id" })
	id, _ := o.Get("id")
	return string(object(member("jsonrpc", "2.0"), strictjson.Member{Name: "id", Value: id}, member("method", c.prefix+"successor"), strictjson.Member{Name: "params", Value: object(inner...)}))
}

// hears returns what permd sends, and to which side.
func (c *conductor) hears(said string) (peerSide, string, error) {
	m, err := read([]byte(said))
	if err != nil {
		return 0, "", err
	}
	id := m.id
	if known, ok := c.ids[string(m.id)]; ok {
		id = known
	}
	if m.answer() {
		own, _ := strictjson.ParseString(m.id)
		to := agentSide
		if strings.HasPrefix(own, "client ") {
			to = clientSide
		}
		return to, usual(string(with(m.object, "id", id))), nil
	}
	to, o := clientSide, m.object
	if m.method == c.prefix+"successor" {
		to = agentSide
		if o, err = strictjson.ParseObject(m.params); err != nil {
			return 0, "", err
		}
	} else if prefix, _ := chainMethod(m.method); prefix != "" {
		return 0, "", fmt.Errorf("%s is not in the form of this conductor", m.method)
	}
	o = append(strictjson.Object{member("jsonrpc", "2.0"), {Name: "id", Value: id}}, slices.DeleteFunc(slices.Clone(o), func(m strictjson.Member) bool {
		return m.Name == "jsonrpc" || m.Name == "id" || m.Name == "params" && string(m.Value) == "null"
	})...)
	bare := object(o...)
	if text(bare, "method") == methodCancelRequest {
		id := string(strictjson.Find(bare, "params", "requestId"))
		return to, strings.Replace(string(bare), id, string(c.ids[id]), 1), nil
	}
	return to, string(bare), nil
}

// usual puts the members of a message into the order of a pipe's envelope.
func usual(said string) string {
	m, err := read([]byte(said))
	if err != nil {
		return said
	}
	return string(object(append(strictjson.Object{member("jsonrpc", "2.0"), {Name: "id", Value: m.id}}, m.members()...)...))
}

// TestChain plays the conversations of the plain form through a conductor: each
// side, and permd, is sent the same.
func TestChain(t *testing.T) {
	for _, prefix := range []string{"_proxy/", "proxy/"} {
		t.Run(strings.Trim(prefix, "/"), func(t *testing.T) {
			for name, test := range map[string]func(*testing.T){
				"permission": TestPermission, "person": TestPerson, "told": TestNotified, "samples": TestSamples, "transcripts": TestTranscripts,
				"ids": TestIDs, "bytes": TestBytes, "order": TestOrder, "one answer": TestOneAnswer, "own sessions": TestOwnSessions,
				"late input": TestLateInput, "replay": TestReplay, "a load that fails": TestLoadFails, "the same call": TestSameCall,
				"initialize": TestInitialize, "version": TestVersion, "modes": TestModes, "gates": TestGates, "require": TestRequire,
				"connected again": TestConnectedAgain,
				"late deny":       TestLateDeny, "odd answers": TestOdd, "no": TestNo, "cancelled yes": TestCancelledYes, "crossed": TestCrossed,
				"forms": TestForm, "other forms": TestOtherForms, "persons and forms": TestFormPerson,
				"version 2": TestVersion2, "late in version 2": TestVersion2Late, "samples of version 2": TestVersion2Samples,
			} {
				t.Run(name, test)
			}
		})
	}
}
