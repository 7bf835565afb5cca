package native

import (
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/socket"
)

// methodChanged is the notification that something has changed by which calls are decided.
const methodChanged = "permd/changed"

// Changed says what has changed.
type Changed string

// What clients are notified of.
const (
	ChangedChoices Changed = "choices" // of the client's person
	ChangedPause   Changed = "pause"   // of the person, or a lock
	ChangedRules   Changed = "rules"
)

// Changes notifies the clients that asked for it of what has changed. For each of them it keeps no
// more than which of the few things have changed since the last notification, so one that does not
// read costs nothing but a goroutine, until its connection is dropped. The zero value is ready
// to use.
type Changes struct {
	mu       sync.Mutex
	watchers map[*watcher]bool
}

// watcher is a connection that is notified.
type watcher struct {
	uid   uint32
	wake  chan struct{} // has room for one
	ended chan struct{}

	mu   sync.Mutex
	what []Changed // sorted, each once
}

type watcherKey struct{}

// watch tells a connection from here on. Further calls for it have no effect. It must be called
// from a Method.
func (ch *Changes) watch(c *socket.Conn) {
	if c.OneRequest {
		return
	}
	begins := false
	c.Value(watcherKey{}, func() any {
		begins = true
		return nil
	})
	if !begins {
		return
	}
	w := &watcher{uid: c.Peer.UID, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	ch.mu.Lock()
	if ch.watchers == nil {
		ch.watchers = map[*watcher]bool{}
	}
	ch.watchers[w] = true
	ch.mu.Unlock()
	c.OnClose(func() {
		ch.mu.Lock()
		delete(ch.watchers, w)
		ch.mu.Unlock()
		close(w.ended)
	})
	go w.run(c)
}

// run sends what has changed until the connection has ended.
func (w *watcher) run(c *socket.Conn) {
	for {
		select {
		case <-w.ended:
			return
		case <-w.wake:
		}
		w.mu.Lock()
		what := w.what
		w.what = nil
		w.mu.Unlock()
		if len(what) == 0 {
			continue // told with the one before
		}
		params, err := json.Marshal(struct {
			Changed []Changed `json:"changed"`
		}{what})
		if err == nil {
			c.Notify(methodChanged, params)
		}
	}
}

// Watched reports whether any client is notified.
func (ch *Changes) Watched() bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return len(ch.watchers) > 0
}

// Tell tells the clients of a person, or of everybody if uid is nil, that something has changed.
// It waits for nobody.
func (ch *Changes) Tell(uid *uint32, what Changed) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for w := range ch.watchers {
		if uid == nil || *uid == w.uid {
			w.note(what)
		}
	}
}

func (w *watcher) note(what Changed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i, found := slices.BinarySearch(w.what, what); !found {
		w.what = slices.Insert(w.what, i, what)
	}
	select {
	case w.wake <- struct{}{}:
	default: // it is awake, or has not seen the last one yet
	}
}
