package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// chooser is a client whose person remembers and forgets, until the daemon is gone. It
// records the answers.
type chooser struct {
	round   int
	ask     *person
	manage  *client.Client
	old     map[string]string // choices of earlier rounds
	session string
	steps   atomic.Int64 // that were taken

	asked     []answer          // the questions
	kept      map[string]string // commands by the ids of their choices
	forgotten map[string]string
	passing   []string // commands that were remembered for the session
	// open is the command of the choice that was being made, and revoking the choice
	// that was being revoked, at the time of the kill: their outcomes are unknown.
	open     string
	revoking map[string]string
	err      error
}

func (c *chooser) connect(t *testing.T, d *testDaemon, project string) {
	t.Helper()
	c.ask, c.manage, c.session = d.asks(t, project), d.dialAdmin(t), "s"
	c.kept, c.forgotten, c.revoking = map[string]string{}, map[string]string{}, map[string]string{}
}

func (c *chooser) run() {
	for n := 0; ; n++ {
		err := c.remember(n)
		if err == nil && n%3 == 2 {
			err = c.forget()
		}
		c.steps.Add(1)
		if errors.Is(err, client.ErrUnreachable) {
			return
		}
		if err != nil {
			c.err = err
			return
		}
	}
}

// remember asks about a command that no rule knows, and has it remembered.
func (c *chooser) remember(n int) error {
	ctx := context.Background()
	command := fmt.Sprintf("mytool round%d choice%d", c.round, n)
	var got struct {
		Decisions []*decisions.Decision `json:"decisions"`
	}
	err := c.ask.Call(ctx, native.MethodDecide, map[string]any{
		"sessionId": c.session, "calls": []any{map[string]any{
			"callId": "1", "tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": command},
		}},
	}, &got)
	if err != nil {
		return err
	}
	d := got.Decisions[0]
	if d.Verdict != decisions.Ask || len(d.Widths) == 0 {
		return fmt.Errorf("%s: %s by %s with the widths %v", command, d.Verdict, d.By, d.Widths)
	}
	c.asked = append(c.asked, answer{ID: d.ID, Verdict: string(d.Verdict)})
	scope := []string{"project", "user", "project", "session"}[n%4]
	if scope != "session" {
		c.open = command
	}
	var said answered
	err = c.ask.Call(ctx, native.MethodChoose, map[string]any{
		"decisionId": d.ID, "verdict": "allow", "width": d.Widths[0].ID, "scope": scope,
	}, &said)
	if err != nil && strings.Contains(err.Error(), "since the question; ask again") {
		// The rules were reloaded between the question and the yes, or while the daemon
		// compared what the call would do now.
		c.open = ""
		return nil
	}
	if err != nil {
		return err
	}
	c.open = ""
	if len(said.Stored) != 1 {
		return fmt.Errorf("%s: stored %v", command, said.Stored)
	}
	if scope == "session" {
		c.passing = append(c.passing, command)
	} else {
		c.kept[said.Stored[0].ID] = command
	}
	return nil
}

// forget revokes two choices: one of this round, and one of an earlier round, which the
// daemon has read from its database.
func (c *chooser) forget() error {
	for _, from := range []map[string]string{c.kept, c.old} {
		for id, command := range from {
			if c.forgotten[id] == "" {
				c.revoking[id] = command
				break
			}
		}
	}
	ids := slices.Collect(maps.Keys(c.revoking))
	if err := c.manage.Call(context.Background(), admin.MethodChoicesForget, map[string]any{"choiceIds": ids}, nil); err != nil {
		return err
	}
	maps.Copy(c.forgotten, c.revoking)
	clear(c.revoking)
	return nil
}

// reloader writes rules and has them read, until the daemon is gone.
type reloader struct {
	k       *killer
	c       *client.Client
	reloads atomic.Int64 // that were acknowledged
	err     error
}

func (r *reloader) run() {
	for {
		if err := r.k.save(r.k.edition + 1); err != nil {
			r.err = err
			return
		}
		var got admin.Reloaded
		err := r.c.Call(context.Background(), admin.MethodReload, struct{}{}, &got)
		if errors.Is(err, client.ErrUnreachable) {
			return
		}
		if err != nil || !got.Changed && got.Digest == "" {
			r.err = fmt.Errorf("reloading: %+v, %w", got, err)
			return
		}
		r.reloads.Add(1)
	}
}
