package native

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// waitingHooks are hooks of one person, each with a connection of its own.
type waitingHooks struct {
	*persistentDaemon
	waiting *WaitingQuestions
	logged  []string
	conns   uint64
}

func newWaitingHooks() *waitingHooks {
	d := &waitingHooks{persistentDaemon: newPersistentDaemon(), waiting: new(WaitingQuestions)}
	d.lasting.Now = time.Now
	Register(d.methods, Deps{
		Sessions: d.sessions, Decider: d, Persistent: d.lasting, Waiting: d.waiting, Keeper: new(persistentKeeper),
		Users: d.users(), RecordAnswer: func(_ context.Context, id string, v decisions.Verdict, _ []decisions.StoredChoice) error {
			d.logged = append(d.logged, id+" "+string(v))
			return nil
		},
	})
	return d
}
