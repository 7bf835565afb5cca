package paths

import (
	"errors"
	"io/fs"
	"strings"
)

// Bounds of the listings that an index keeps, in bytes. When they are exceeded those that
// were not used lately are dropped.
const (
	maxListingBytes  = 16 << 10  // of one
	maxListingsBytes = 256 << 10 // of those that were used lately, and as much of others
)

// listings are the latest listings of folders.
type listings struct {
	young, old map[string]keptListing
	bytes      int // of young
}

type keptListing struct {
	stamp   Stamp // old enough to change with the names
	listing *Listing
}

// Listing implements [Lister]. A listing is used while the folder has the same stamp,
// which changes with each name that is added or removed, and with a change of the folder's
// permissions; a stamp that a later change may leave as it is is not trusted. So it is as
// current as an Lstat.
func (x *Index) Listing(path string, limit int) (*Listing, Stamp, error) {
	if x.stamper == nil {
		l, err := ListingOf(x.FS, path, limit)
		return l, Stamp{}, err
	}
	// Before the names, so that a change in between makes the stamp outdated.
	stamp, err := x.stamper.Stamp(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Stamp{}, err
	}
	if err != nil {
		stamp = Stamp{}
	} else if l := x.keptListing(path, stamp); l != nil && len(l.Entries) <= limit {
		return l, stamp, nil
	}
	l, err := ListingOf(x.FS, path, limit)
	if err != nil || stamp == (Stamp{}) || !x.trusts(path, stamp) {
		return l, Stamp{}, err
	}
	if size := l.size(); size <= maxListingBytes {
		x.listing.Lock()
		defer x.listing.Unlock()
		x.listings.add(strings.Clone(path), keptListing{stamp, l})
	}
	return l, stamp, nil
}

// keptListing returns the listing of a folder that has this stamp, nil if there is none.
func (x *Index) keptListing(path string, stamp Stamp) *Listing {
	x.listing.Lock()
	defer x.listing.Unlock()
	k, ok := x.listings.young[path]
	if !ok {
		if k, ok = x.listings.old[path]; ok && k.stamp == stamp {
			x.listings.add(strings.Clone(path), k)
		}
	}
	if !ok || k.stamp != stamp {
		return nil
	}
	return k.listing
}

// add is called with the lock held.
func (s *listings) add(path string, k keptListing) {
	size := 128 + len(path) + k.listing.size()
	if s.young == nil || s.bytes+size > maxListingsBytes {
		s.old, s.young, s.bytes = s.young, map[string]keptListing{}, 0
	}
	if _, ok := s.young[path]; !ok {
		s.bytes += size
	} else {
		s.bytes += k.listing.size() - s.young[path].listing.size()
	}
	s.young[path] = k
}
