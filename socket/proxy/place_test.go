package proxy

import (
	"fmt"
	"testing"

	"github.com/permd/permd/decisions"
)

// load has the client open session s1 in a folder.
func (k *talk) load(id int, cwd string) {
	k.client(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/load","params":{"sessionId":"s1","cwd":%q}}`, id, cwd))
}

func (k *talk) loaded(id int) {
	k.agent(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id))
}

func (k *talk) loadRefused(id int) {
	k.agent(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32002,"message":"x"}}`, id))
}

// TestPlaceOfSession: if several requests that open a session in other folders are
// pending, in whatever order they are answered, the session's folder is that of the
// latest successful one, or unchanged if all failed.
func TestPlaceOfSession(t *testing.T) {
	for answers, want := range map[string]string{
		"no no": "/p", "yes no": "/q", "no yes": "/r", "yes yes": "/r",
	} {
		for _, order := range [][]int{{11, 12}, {12, 11}} {
			k := newTalk(t, Rules{})
			k.begin("x")
			k.load(11, "/q")
			k.load(12, "/r")
			var first, second string
			if _, err := fmt.Sscan(answers, &first, &second); err != nil {
				t.Fatal(err)
			}
			for _, id := range order {
				if id == 11 && first == "yes" || id == 12 && second == "yes" {
					k.loaded(id)
				} else {
					k.loadRefused(id)
				}
			}
			if got := k.core.sessions.byID["s1"]; got == nil || got.cwd != want || len(got.pending) != 0 {
				t.Errorf("%s, in the order %v: %+v, want it in %s", answers, order, got, want)
			}
			last := k.open[len(k.open)-1]
			if text(last.Params, "cwd") != want {
				t.Errorf("%s, in the order %v: permd was sent %s last", answers, order, last.Params)
			}
		}
	}
}

// TestLoadedTwice: a session that is being opened by two requests is dropped only
// after both are refused.
func TestLoadedTwice(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	for id, cwd := range map[int]string{21: "/q", 22: "/r"} {
		k.client(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/load","params":{"sessionId":"s2","cwd":%q}}`, id, cwd))
	}
	k.loadRefused(21)
	if s := k.core.sessions.byID["s2"]; s == nil || s.cwd != "/r" {
		t.Errorf("one was refused: %+v", s)
	}
	k.loadRefused(22)
	if s := k.core.sessions.byID["s2"]; s != nil {
		t.Errorf("both were refused: %+v", s)
	}
}

// TestFormerPlaces: a restarted daemon is also sent the former folders of sessions,
// the latest last.
func TestFormerPlaces(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.load(31, "/q")
	k.loaded(31)
	k.client(`{"jsonrpc":"2.0","id":32,"method":"session/new","params":{"cwd":"/r"}}`)
	k.agent(`{"jsonrpc":"2.0","id":32,"result":{"sessionId":"s1"}}`) // an id that is in use
	k.open = nil
	k.do(k.core.onConnected(true))
	for _, cwd := range []string{"/p", "/q", "/r"} {
		k.declared("s1", cwd, "")
	}
	for i := range 3 * decisions.MaxFormer {
		k.load(100+i, fmt.Sprintf("/p%d", i))
		k.loaded(100 + i)
	}
	if s := k.core.sessions.byID["s1"]; len(s.former) != decisions.MaxFormer {
		t.Errorf("%d former places are kept", len(s.former))
	}
}
