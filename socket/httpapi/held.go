package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/gatehttp"
	"github.com/permd/permd/socket/native"
)

// maxHold is how long a request may be held for a person.
const maxHold = time.Hour

// hold is a request whose client waits for a person (RFC 7240, Prefer: wait=N). Its context
// ends when deciding takes too long. While a person is waited for, that time stands still.
type hold struct {
	until time.Time     // the client waits no longer
	limit time.Duration // of deciding
	late  *time.Timer
}

type holdKey struct{}

// holdOf returns the hold of a context, nil for a request whose client does not wait.
func holdOf(ctx context.Context) *hold {
	h, _ := ctx.Value(holdKey{}).(*hold)
	return h
}

// newContext returns the context of a request, which stop ends.
func (s *server) newContext(w http.ResponseWriter, r *http.Request, e endpoint) (ctx context.Context, stop func(), f *apiError) {
	var wait time.Duration
	if e.holds {
		var ok bool
		if wait, ok = gatehttp.PreferredWait(r.Header, maxHold); !ok {
			return nil, nil, badRequest("Prefer: wait must be a number of seconds")
		}
	}
	release := func() {}
	if wait > 0 {
		var alone bool
		if release, alone = gatehttp.Hold(r.Context()); !alone {
			// Nobody would know whether the client is still there.
			w.Header().Set("Connection", "close")
			return nil, nil, errDisconnected
		}
	}
	if wait == 0 {
		ctx, stop = context.WithTimeout(r.Context(), s.decideTimeout)
		return ctx, stop, nil
	}
	w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(wait/time.Second)))
	ctx, cancel := context.WithCancelCause(r.Context())
	h := &hold{until: time.Now().Add(wait), limit: s.decideTimeout}
	h.late = time.AfterFunc(h.limit, func() { cancel(context.DeadlineExceeded) })
	return context.WithValue(ctx, holdKey{}, h), func() { h.late.Stop(); cancel(nil); release() }, nil
}

// personsAnswer is the result of permd/wait.
type personsAnswer struct {
	Answer string           `json:"answer"`
	Result strictjson.Value `json:"result"`
}

// waitForPersons waits until persons have answered the questions that are open on the connection of a
// request, or its client waits no longer. It returns their answers; of a question without one
// there is none. It must be called on the goroutine of the request.
func (s *server) waitForPersons(ctx context.Context, h *hold, conn *socket.Conn) []personsAnswer {
	ids := native.StateOf(conn).Questions.IDs()
	seconds := int64((time.Until(h.until) + time.Second - 1) / time.Second)
	if len(ids) == 0 || seconds < 1 {
		return nil
	}
	h.late.Stop()
	defer h.late.Reset(h.limit)
	// A person takes minutes. Until then this is no request that others wait for.
	fairshare.TurnOf(ctx).End()
	ctx, cancel := context.WithDeadline(&fairshare.Context{Context: ctx}, h.until)
	defer cancel()
	var mu sync.Mutex
	var answers []personsAnswer
	var waits sync.WaitGroup
	for _, id := range ids[:min(len(ids), native.MaxConnWaits)] {
		params, err := json.Marshal(map[string]any{"decisionId": id, "seconds": seconds})
		if err != nil {
			continue
		}
		run, err := s.prepareCall(conn, native.MethodWait, params)
		if err != nil {
			continue // it can only be answered by asking again
		}
		waits.Go(func() {
			var a personsAnswer
			result, err := run(ctx)
			if err == nil {
				a, err = readPersonsAnswer(result)
			}
			if err != nil || a.Answer != "allow" && a.Answer != "deny" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, a)
		})
	}
	waits.Wait()
	return answers
}

func readPersonsAnswer(result any) (a personsAnswer, err error) {
	text, err := json.Marshal(result)
	if err == nil {
		err = strictjson.Unmarshal(text, &a)
	}
	return a, err
}

// answerOne waits for the answer to the question of one call, as otc/call and rap/invoke have
// it, and returns what those would say after it.
func (s *server) answerOne(ctx context.Context, conn *socket.Conn, said strictjson.Value) (strictjson.Value, error) {
	answers := s.waitForPersons(ctx, holdOf(ctx), conn)
	if len(answers) != 1 {
		return said, nil
	}
	var got struct {
		Outcome  string           `json:"outcome"`
		Response strictjson.Value `json:"response,omitzero"`
		Result   strictjson.Value `json:"result,omitzero"`
	}
	if err := strictjson.Unmarshal(answers[0].Result, &got); err != nil {
		return nil, err
	}
	if got.Outcome == "approved" {
		got.Outcome = "run" // the repetition that it waits for cannot come
	}
	want := map[string]string{"allow": "run", "deny": "denied"}[answers[0].Answer]
	if got.Outcome != want {
		return said, nil
	}
	o, err := strictjson.ParseObject(said)
	if err != nil {
		return nil, err
	}
	now := strictjson.Object{{Name: "outcome", Value: strictjson.Value(strconv.Quote(want))}}
	for _, m := range o {
		switch m.Name {
		case "outcome", "response", "result", "choice": // those of the question
		default:
			now = append(now, m)
		}
	}
	if got.Response != nil {
		now = append(now, strictjson.Member{Name: "response", Value: got.Response})
	}
	if got.Result != nil {
		now = append(now, strictjson.Member{Name: "result", Value: got.Result})
	}
	return encodeObject(now)
}

// answerBatch waits for the answers to the questions of a turn, and has aap/answer apply them.
// That may bring up further questions.
func (s *server) answerBatch(ctx context.Context, conn *socket.Conn, session, said strictjson.Value) (strictjson.Value, error) {
	batch := strictjson.Find(said, "batchId")
	params, err := encodeObject(strictjson.Object{{Name: "sessionId", Value: session}, {Name: "batchId", Value: batch}})
	if err != nil || session == nil || batch == nil {
		return said, err
	}
	for len(s.waitForPersons(ctx, holdOf(ctx), conn)) > 0 {
		if said, err = s.callAgain(ctx, conn, "aap/answer", params); err != nil {
			return nil, err
		}
	}
	return said, nil
}

// callAgain calls a method after a wait.
func (s *server) callAgain(ctx context.Context, conn *socket.Conn, name string, params strictjson.Value) (strictjson.Value, error) {
	turn, err := s.beginTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer turn.End()
	run, err := s.prepareCall(conn, name, params)
	if err != nil {
		return nil, err
	}
	result, err := run(&fairshare.Context{Context: ctx, Turn: turn})
	if err != nil {
		return nil, err
	}
	return json.Marshal(result, json.Deterministic(true))
}
