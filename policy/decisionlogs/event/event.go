// Package event has the form of OPA's decision log events (EventV1) for permd's decisions.
package event

import (
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// Event is a decision as an event of OPA's decision logs.
type Event struct {
	Labels      map[string]string         `json:"labels"`
	DecisionID  string                    `json:"decision_id"`
	Bundles     map[string]bundle         `json:"bundles,omitzero"`
	Path        string                    `json:"path"`
	Input       *input                    `json:"input,omitzero"`
	Result      *result                   `json:"result,omitzero"`
	RequestedBy string                    `json:"requested_by,omitzero"`
	Timestamp   time.Time                 `json:"timestamp"`
	Metrics     map[string]int64          `json:"metrics,omitzero"`
	Custom      map[string]map[string]any `json:"custom"`
}

type bundle struct {
	Revision string `json:"revision"`
}

// input is what was asked.
type input struct {
	Agent    effects.Party            `json:"agent"`
	Client   effects.Party            `json:"client"`
	Session  decisions.SessionRef     `json:"session"`
	Protocol string                   `json:"protocol"`
	Tool     string                   `json:"tool"`
	Cwd      string                   `json:"cwd,omitzero"`
	Project  string                   `json:"project,omitzero"`
	Details  []decisions.EffectDetail `json:"details,omitzero"`
}

// result is what was answered, and what became of it.
type result struct {
	decisions.Decision
	Answer *decisions.HumanAnswer `json:"answer,omitzero"`
	Ran    *time.Time             `json:"ran,omitzero"`
	Ended  *decisions.Ending      `json:"ended,omitzero"`
}

// Path is the path of the events of decisions.
const Path = "permd/decide"

// Of returns the event of a record.
func Of(r *decisions.Record, labels map[string]string) *Event {
	e := &Event{
		Labels: labels, DecisionID: r.Decision.ID, Path: Path,
		Timestamp: r.Time, Custom: map[string]map[string]any{"permd": {"seq": r.Seq}},
	}
	if r.Unreadable != "" {
		e.Custom["permd"]["unreadable"] = r.Unreadable
		return e
	}
	for name, value := range map[string]string{
		"declared": r.Declared, "claimedUser": r.ClaimedUser, "claimedTrace": r.ClaimedTrace, "claimedKind": r.ClaimedKind, "claimedTitle": r.ClaimedTitle,
		"claimedStatus": r.ClaimedStatus, "reconsiders": r.Reconsiders,
	} {
		if value != "" {
			e.Custom["permd"][name] = value
		}
	}
	e.Bundles = map[string]bundle{"permd": {r.Decision.Policy.Digest}}
	e.Input = &input{r.Agent, r.Client, r.Session, r.Protocol, r.Tool, r.Cwd, r.Project, r.Details}
	e.Result = &result{r.Decision, r.Answer, r.Ran, r.Ended}
	e.RequestedBy = fmt.Sprintf("uid %d, pid %d", r.Peer.UID, r.Peer.PID)
	e.Metrics = map[string]int64{"timer_server_handler_ns": r.LatencyNS}
	return e
}
