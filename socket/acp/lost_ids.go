package acp

import "hash/maphash"

// maxLostIDs is how many ids a lostIDs tells apart.
const maxLostIDs = 4096

// lostIDs are the ids of items that are no longer kept, so that a new item can
// be told from one whose beginning may be missing. It holds hashes: a collision
// costs a question.
type lostIDs struct {
	seed maphash.Seed
	ids  map[uint64]string // to the reason
	all  string            // the reason, when there were too many to tell apart
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

// remove takes an id out: what comes under it is new.
func (f *lostIDs) remove(id string) {
	if f.ids != nil {
		delete(f.ids, maphash.String(f.seed, id))
	}
}

// why says why something of that id may be lost, "" if nothing is.
func (f *lostIDs) why(id string) string {
	if f.ids == nil {
		return f.all
	}
	return f.ids[maphash.String(f.seed, id)]
}
