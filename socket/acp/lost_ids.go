package acp

import "hash/maphash"

// maxLostIDs is how many ids a lostIDs distinguishes.
const maxLostIDs = 4096

// lostIDs are the ids of dropped items, so that a new item can be distinguished from one
// whose beginning may be missing. It stores hashes: a collision costs a question.
type lostIDs struct {
	seed maphash.Seed
	ids  map[uint64]string // to the reason
	all  string            // the reason for all ids, when there were too many
}

func (f *lostIDs) add(id, why string) {
	if f.all != "" {
		return
	}
	if f.ids == nil {
		f.seed, f.ids = maphash.MakeSeed(), map[uint64]string{}
	}
	if f.ids[maphash.String(f.seed, id)] = why; len(f.ids) > maxLostIDs {
		f.ids, f.all = nil, why
	}
}

// remove removes an id: items with it are new.
func (f *lostIDs) remove(id string) {
	if f.ids != nil {
		delete(f.ids, maphash.String(f.seed, id))
	}
}

// why returns why messages about an id may be lost, "" if none are.
func (f *lostIDs) why(id string) string {
	if f.ids == nil {
		return f.all
	}
	return f.ids[maphash.String(f.seed, id)]
}
