package journal

import (
	"sync"

	"github.com/permd/permd/internal/sqlitedb"
)

// Sizes of the write-ahead log, in pages.
const (
	// foldPages is written between two times that the folder folds the log
	// into the database.
	foldPages = 1000
	// mostPages is where a commit folds the log itself: a busy journal adds to
	// the log while it is folded, so that it never gets to start anew.
	mostPages = 8 * foldPages
	pageBytes = 4096
)

// folder folds the write-ahead log into the database beside the writer, since
// that waits for the disk for some milliseconds, and a request must not.
type folder struct {
	pages int           // written since the last time; of the caller that writes
	wake  chan struct{} // of one
	quit  chan struct{}
	done  sync.WaitGroup
}

func (f *folder) start(db *sqlitedb.DB) {
	f.wake, f.quit = make(chan struct{}, 1), make(chan struct{})
	f.done.Go(func() {
		for {
			select {
			case <-f.wake:
				// A full disk shows up in a commit, sooner or later, and a
				// commit folds the log as well.
				_ = db.Checkpoint()
			case <-f.quit:
				return
			}
		}
	})
}

// wrote counts the pages of a batch, roughly.
func (f *folder) wrote(batch []*request) {
	bytes := 0
	for _, req := range batch {
		bytes += req.text.Len()
	}
	if f.pages += 1 + bytes/pageBytes; f.pages < foldPages {
		return
	}
	f.pages = 0
	select {
	case f.wake <- struct{}{}:
	default: // it is at it
	}
}

func (f *folder) stop() {
	close(f.quit)
	f.done.Wait()
}
