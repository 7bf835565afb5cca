package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
)

// ChangesOf returns the ids of the newest changes that choices began or ended with, which can
// be taken back.
func (m choices) ChangesOf(ctx context.Context, list []admin.Choice) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return m.d.changesOf(ctx, ids)
}

func (d *daemon) changesOf(ctx context.Context, choices []string) (ids []string) {
	tried := map[string]bool{"": true}
	for _, choice := range choices {
		id := d.memory.ChangeOf(choice)
		if tried[id] {
			continue
		}
		tried[id] = true
		if _, err := d.memory.Undo(ctx, nil, id, true); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// History returns the newest changes of a person.
func (m choices) History(uid uint32, limit int) ([]admin.PastChange, error) {
	list, err := m.d.memory.History(uid, limit)
	if err != nil {
		m.d.log.Warn("changes of choices cannot be read", "error", err)
		return nil, err
	}
	out := make([]admin.PastChange, len(list))
	for i := range list {
		c := &list[i]
		out[i] = admin.PastChange{
			ID: c.ID, UID: c.UID, Time: c.Time, What: string(c.What), Undoes: c.Undoes, UndoneBy: c.UndoneBy,
			Refused: c.Refused, Choices: m.wirePast(c.Choices), More: c.More,
		}
	}
	return out, nil
}

func (m choices) wirePast(list []remember.PastChoice) []admin.PastChoice {
	out := make([]admin.PastChoice, len(list))
	for i := range list {
		c := &list[i]
		out[i] = admin.PastChoice{Choice: m.wire(&c.Choice), Ended: c.Ended, Erased: c.Erased, Why: c.Why}
	}
	return out
}

// allTakenBack is the error where no change is left that is no undo.
func (m choices) allTakenBack(uid uint32) error {
	list, err := m.d.memory.History(uid, 1)
	if err != nil || len(list) == 0 {
		return admin.ErrNoChange
	}
	return admin.Refusal(fmt.Sprintf("all changes are taken back; permd remember undo %s makes the last one again", list[0].ID))
}

// Undo takes a change back. What a person has done before an allow is in force again is in
// the journal, or it is not in force.
func (m choices) Undo(ctx context.Context, peer decisions.Peer, uid *uint32, u admin.Undo) (admin.Undone, error) {
	if u.ID == "" {
		id, err := m.d.memory.LastChange(peer.UID)
		switch {
		case err != nil:
			m.d.log.Warn("changes of choices cannot be read", "error", err)
			return admin.Undone{}, err
		case id == "":
			return admin.Undone{}, m.allTakenBack(peer.UID)
		}
		u.ID = id
	}
	done, err := m.d.memory.Undo(ctx, uid, u.ID, true)
	if err == nil && !u.Preview {
		if err := m.d.recordAct(ctx, peer, "permd remember undo", undoText(done)); err != nil {
			m.d.log.Error("a change is not taken back: that could not be logged", "change", u.ID, "error", err)
			return admin.Undone{}, err
		}
		done, err = m.d.memory.Undo(ctx, uid, u.ID, false)
		if err != nil {
			// What the journal says was to be done was not.
			if err := m.d.recordAct(ctx, peer, "permd remember undo", "the change "+u.ID+" was not taken back after all"); err != nil {
				m.d.log.Warn("that a change was not taken back is not in the journal", "change", u.ID, "error", err)
			}
		}
	}
	switch {
	case errors.Is(err, remember.ErrNotFound):
		return admin.Undone{}, admin.ErrNoChange
	case errors.Is(err, remember.ErrNotUndone):
		return admin.Undone{}, admin.Refusal(err.Error())
	case err != nil:
		m.d.log.Warn("a change is not taken back", "change", u.ID, "error", err)
		return admin.Undone{}, err
	}
	return admin.Undone{
		ID: done.ID, ChangeID: done.Change.ID, What: string(done.Change.What), Time: done.Change.Time,
		Ended: m.wirePast(done.Ended), Restored: m.wirePast(done.Restored), NotRestored: m.wirePast(done.NotRestored),
	}, nil
}

// maxUndoWords bounds the choices that the journal names of one undo.
const maxUndoWords = 8

// Record writes into the journal what a person has done to choices, which is in force.
func (m choices) Record(ctx context.Context, peer decisions.Peer, command, what string, list []admin.Choice) {
	var words []string
	for i := range list {
		if len(words) == maxUndoWords {
			words = append(words, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		c := &list[i]
		words = append(words, fmt.Sprintf("%s %s %s (%s)", c.Verdict, c.Kind, strings.ReplaceAll(c.Rule, "\n", " and "), c.ID))
	}
	if len(words) == 0 {
		return
	}
	if err := m.d.recordAct(ctx, peer, command, what+": "+strings.Join(words, "; ")); err != nil {
		m.d.log.Warn("what a person has done to choices is not in the journal", "command", command, "error", err)
	}
}

// undoText says what is taken back, for the journal.
func undoText(u *remember.Undone) string {
	words := []string{fmt.Sprintf("%s %s of %s is taken back", u.Change.What, u.Change.ID, u.Change.Time.Format("2006-01-02 15:04:05"))}
	more := 0
	for _, part := range []struct {
		says string
		list []remember.PastChoice
	}{{"ended", u.Ended}, {"in force again", u.Restored}} {
		for i := range part.list {
			if len(words) > maxUndoWords {
				more++
				continue
			}
			c := &part.list[i]
			words = append(words, fmt.Sprintf("%s: %s %s %s (%s)", part.says, c.Verdict, c.Kind, strings.ReplaceAll(c.Label, "\n", " and "), c.ID))
		}
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, "; ")
}
