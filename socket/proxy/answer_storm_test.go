package proxy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// TestStorm mixes everything at random: rules that change all the time, a permd
// that stops and starts, clients that answer two times and cancel, an agent that
// withdraws requests and reuses ids. Each request gets one answer, and the agent
// never gets an approval of what permd last denied.
func TestStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it makes hundreds of storms")
	}
	t.Parallel()
	for seed := range uint64(300) {
		s := &storm{talk: newTalk(t, Rules{}), r: rand.New(rand.NewPCG(seed, 1)), digest: map[string]int{}}
		s.begin("x")
		for range 400 {
			s.step()
		}
		for len(s.open) > 0 {
			s.reply()
		}
		for id := range s.live {
			s.client(back(fmt.Sprint(id), "no"))
			for len(s.open) > 0 {
				s.reply()
			}
		}
		s.hear()
		if n := len(s.out[agentSide]) + len(s.out[clientSide]); n != 0 {
			t.Fatalf("seed %d: %d lines are still held", seed, n)
		}
		for id, n := range s.live {
			if n != 0 {
				t.Fatalf("seed %d: request %d lacks %d answers", seed, id, n)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// storm is a conversation with random events.
type storm struct {
	*talk
	r      *rand.Rand
	rules  int            // how often they changed; odd ones deny
	gone   bool           // permd is not running
	live   [4]int         // requests of an id that have no answer
	sure   [4]bool        // permd's last answer about it was a deny
	digest map[string]int // the rules of a question
	was    [4]bool        // ids of which there was a request
	asks   int
}

func (s *storm) step() {
	id := s.r.IntN(len(s.live))
	switch s.r.IntN(12) {
	case 0, 1:
		if s.live[id] == 0 {
			s.live[id], s.sure[id], s.was[id] = 1, false, true
			s.agent(request(fmt.Sprint(id), fmt.Sprint("c", id)))
		}
	case 2, 3:
		if !s.was[id] {
			return // an answer to nothing is the agent's business
		}
		s.client(back(fmt.Sprint(id), []string{"yes", "permd-width-w1", "always", "other"}[s.r.IntN(4)]))
	case 4:
		if s.was[id] && s.r.IntN(3) == 0 {
			s.client(back(fmt.Sprint(id), "no"))
		}
	case 5:
		if s.r.IntN(4) == 0 {
			s.client(cancelTurn)
		}
	case 6:
		if s.r.IntN(4) == 0 {
			s.agent(strings.Replace(cancelAsk, "7", fmt.Sprint(id), 1))
		}
	case 7:
		s.rules++
	case 8:
		if s.gone = !s.gone; !s.gone {
			s.do(s.core.onConnected(true))
		}
	default:
		s.reply()
	}
	s.hear()
}

// reply makes permd answer the oldest question, by the current rules.
func (s *storm) reply() {
	if len(s.open) == 0 {
		return
	}
	a := s.open[0]
	s.open = s.open[1:]
	call := text(a.Params, "toolCall", "toolCallId")
	id := strings.TrimPrefix(call, "c")
	switch {
	case s.gone:
		s.mark(id, false)
		s.answer(a, "", client.ErrUnreachable)
	case a.Method == "permd/choose":
		d := text(a.Params, "decisionId")
		if rules, ok := s.digest[d]; !ok || rules != s.rules {
			s.answer(a, "", errChanged)
			return
		}
		delete(s.digest, d)
		s.answer(a, `{"stored":[{}]}`, nil)
	case a.Method != "session/request_permission":
		s.answer(a, `{}`, nil)
	case s.rules%2 == 1:
		s.mark(id, true)
		s.answer(a, lateDeny, nil)
	default:
		s.mark(id, false)
		s.asks++
		d := fmt.Sprint("d", s.asks)
		s.digest[d] = s.rules
		s.answer(a, "", &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(strings.Replace(fmt.Sprintf(decisionAsk, "run"), "d1", d, 1))})
	}
}

func (s *storm) mark(id string, deny bool) {
	var n int
	if _, err := fmt.Sscan(id, &n); err == nil {
		s.sure[n] = deny
	}
}

// hear counts the messages that the agent gets.
func (s *storm) hear() {
	s.sent(clientSide)
	for _, line := range s.sent(agentSide) {
		v := strictjson.Value(line)
		var id int
		if _, err := fmt.Sscan(string(strictjson.Find(v, "id")), &id); err != nil {
			continue // the client's own
		}
		if s.live[id]--; s.live[id] < 0 {
			s.live[id] = 0
			s.t.Errorf("request %d is answered twice, with %s", id, line)
		}
		if o := text(v, "result", "outcome", "optionId"); o != "no" && o != "" && s.sure[id] {
			s.t.Errorf("request %d is answered %s, which permd denies", id, line)
		}
	}
}
