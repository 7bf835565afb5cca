package acp

import "hash/maphash"

// maxForgotten is how many ids a set of forgotten ones tells apart.
const maxForgotten = 4096

// forgotten are the ids of what is not kept any more, so that what is new can
// be told from what may lack its beginning. It holds hashes: that two ids share
// one costs a question.
type forgotten struct {
	seed maphash.Seed
	ids  map[uint64]string // to the reason
	all  string            // the reason, when there were too many to tell apart
}

func (f *forgotten) add(id, why string) {
	if f.all != "" {
		return
	}
	if f.ids == nil {
		f.seed, f.ids = maphash.MakeSeed(), map[uint64]string{}
	}
	if f.ids[maphash.String(f.seed, id)] = why; len(f.ids) > maxForgotten {
		f.ids, f.all = nil, why
	}
}

// remove takes an id out: what comes under it is new.
func (f *forgotten) remove(id string) {
	if f.ids != nil {
		delete(f.ids, maphash.String(f.seed, id))
	}
}

// why says why something of that id may be lost, "" if nothing is.
func (f *forgotten) why(id string) string {
	if f.ids == nil {
		return f.all
	}
	return f.ids[maphash.String(f.seed, id)]
}
