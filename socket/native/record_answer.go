package native

import (
	"context"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/socket"
)

// recordAnswer records the person's answer. If that fails the answer usually counts
// all the same: it is the person's, and its choices are stored. An error means that
// it does not count, as the settings want it; its choices are then revoked.
func (h *handler) recordAnswer(ctx context.Context, id string, v decisions.Verdict, by author.Identity, kept []decisions.StoredChoice) error {
	if h.RecordAnswer == nil || v == "" || h.RecordAnswer(ctx, id, v, by, kept) == nil {
		return nil
	}
	message := "the answer could not be logged, so it does not count"
	if ids := decisions.StoredNow(kept); len(ids) > 0 {
		if h.Keeper.Drop(context.WithoutCancel(ctx), ids...) != nil {
			message = "the answer could not be logged and does not count; its choice is revoked, but that could not be stored"
		}
	}
	// As a yes that came too late: clients that go on after other errors ask again.
	return socket.Refuse("%s", message)
}
