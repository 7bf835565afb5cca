package daemon

import (
	"context"
	"fmt"

	"github.com/permd/permd/cmd/permd/internal/explain"
	"github.com/permd/permd/cmd/permd/internal/records"
	"github.com/permd/permd/cmd/permd/internal/rulecost"
	"github.com/permd/permd/cmd/permd/internal/shadow"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
)

// registerExplain adds the method to those of the management socket.
func (d *daemon) registerExplain(m socket.Methods, deps *admin.Deps) {
	m[explain.Method] = func(c *socket.Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
		var p struct {
			DecisionID string `json:"decisionId"`
		}
		if err := strictjson.Unmarshal(params, &p); err != nil {
			return nil, &socket.Error{Code: socket.CodeParams, Message: "invalid params: " + err.Error()}
		}
		return func(ctx context.Context) (any, error) {
			rec, err := records.Journal{Reader: d.journal.Reader}.Get(ctx, p.DecisionID)
			if err != nil {
				return nil, fmt.Errorf("reading the journal: %w", err)
			}
			if rec == nil || !deps.MayRead(c, rec) {
				return nil, &socket.Error{Code: admin.CodeNoDecision, Message: "no decision of that id"}
			}
			if rec.Unreadable != "" {
				return nil, &socket.Error{Code: socket.CodeInternal, Message: "the decision cannot be read: " + rec.Unreadable}
			}
			return explain.Record(ctx, rec, d.recent.Of(p.DecisionID)), nil
		}, nil
	}
}

// registerCosts adds the method that returns what rules cost.
func (d *daemon) registerCosts(m socket.Methods) {
	m[rulecost.Method] = func(_ *socket.Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
		if err := strictjson.Unmarshal(params, &struct{}{}); err != nil {
			return nil, &socket.Error{Code: socket.CodeParams, Message: "invalid params: " + err.Error()}
		}
		return func(context.Context) (any, error) { return d.costs.State(), nil }, nil
	}
}

// registerShadow adds the method that returns what shadow rules would decide.
func (d *daemon) registerShadow(m socket.Methods) {
	m[shadow.Method] = func(_ *socket.Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
		if err := strictjson.Unmarshal(params, &struct{}{}); err != nil {
			return nil, &socket.Error{Code: socket.CodeParams, Message: "invalid params: " + err.Error()}
		}
		return func(context.Context) (any, error) { return d.shadow.Report(), nil }, nil
	}
}
