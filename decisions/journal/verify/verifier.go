package verify

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permd/permd/decisions/journal/chain"
)

// addedKey names what was added to a record.
type addedKey struct {
	seq  int64
	kind byte
}

// verifier goes through the chain.
type verifier struct {
	o      Options
	result Result
	rows   spanNames

	id            chain.ID
	start, newest int64
	entries       int64
	head          *chain.Hash
	kept          int64
	keptSum       chain.Sum
	cut           int64
	count         int64 // entries up to the one that was read last, or up to the cut

	// expected are what the next entry may continue: the stored hash of the one before it,
	// and the one that it should have.
	expected [2]chain.Hash
	last     int64 // the newest record
	known    map[chain.Hash]*chain.Head
	wanted   *chain.Hash // of Options.Hash
	// wantedSeq is its number, 0 if that is not known.
	wantedSeq int64
	// added is what is added to records and was not met as an entry yet; unmatched are
	// entries that were met without.
	added     map[addedKey]chain.Hash
	unmatched []*entry
	gone      [][2]int64 // numbers of missing decisions, and the one after them
	suspects  []*entry   // changed ones, which may stand in another's place

	lists      *lists
	nextListed int                 // row of lists.listed
	misplaced  int                 // decisions that lists do not have where they belong
	spans      map[int64]*[2]int64 // oldest and newest time, as decisions have it
	span       int64               // of the decision before
	times      *[2]int64           // of that span, nil for none
}

// fault reports a fault.
func (v *verifier) fault(e *entry, kind FaultKind, format string, args ...any) {
	f := Fault{Seq: e.seq, ID: e.id(), Kind: kind, Text: fmt.Sprintf(format, args...)}
	if e.kind == chain.Record && e.time != 0 {
		f.Time = time.Unix(0, e.time).UTC()
	}
	v.result.Add(f)
}

const selectChainState = `SELECT id, start, newest, chain.entries, head, kept, kept_sum, cut, hash, retained.entries FROM chain, retained`

// verify verifies what a connection in a transaction reads.
func (v *verifier) verify(ctx context.Context, conn *sql.Conn) error {
	v.result.Faults = []Fault{}
	if err := v.begin(ctx, conn); errors.Is(err, errNoChain) {
		clear(v.o.Names)
		return nil
	} else if err != nil {
		return err
	}
	lists, err := readLists(ctx, conn)
	if err != nil {
		return err
	}
	v.lists = lists
	if err := v.readEntries(ctx, conn); err != nil {
		return err
	}
	v.reordered()
	if err := v.unmatchedEntries(ctx, conn); err != nil {
		return err
	}
	v.finish()
	v.finishLists()
	return nil
}

// begin reads where the chain begins and ends.
func (v *verifier) begin(ctx context.Context, conn *sql.Conn) error {
	var id, head, sum, cutHash []byte
	err := conn.QueryRowContext(ctx, selectChainState).Scan(&id, &v.start, &v.newest, &v.entries, &head, &v.kept, &sum, &v.cut, &cutHash, &v.count)
	if errors.Is(err, sql.ErrNoRows) {
		v.fault(at(0), Missing, "where the chain begins and ends is gone, so nothing can be verified")
		return errNoChain
	}
	if err != nil {
		return err
	}
	copy(v.id[:], id)
	if len(id) != len(v.id) {
		v.fault(at(0), Changed, "the chain's id was changed, so nothing can be verified")
		return errNoChain
	}
	var ok bool
	if v.keptSum, ok = chain.SumOf(sum); !ok || head != nil && len(head) != len(chain.Hash{}) {
		v.fault(at(0), Changed, "where the chain begins and ends was changed")
	}
	first := chain.Genesis(v.id, v.start)
	switch {
	case v.cut < v.start || v.cut == v.start && cutHash == nil:
	case len(cutHash) != len(first):
		v.fault(at(v.cut), Changed, "the hash of the newest decision that was removed is gone")
	default:
		first = chain.Hash(cutHash)
	}
	v.expected = [2]chain.Hash{first, first}
	v.last = max(v.start, v.cut)
	v.head = &first
	if len(head) == len(first) {
		v.head = (*chain.Hash)(head)
	}
	for i := range v.o.Known {
		h := &v.o.Known[i]
		hash, err := hex.DecodeString(h.Hash)
		switch {
		case h.Chain != hex.EncodeToString(v.id[:]):
			v.other(h)
		case err != nil || len(hash) != len(chain.Hash{}):
			v.fault(at(h.Seq), Forged, "a head that is known of it is no hash: %q", h.Hash)
		default:
			v.known[chain.Hash(hash)] = h
		}
	}
	if v.o.Hash != "" {
		text := v.o.Hash
		if number, hash, ok := strings.Cut(text, ":"); ok {
			v.wantedSeq, err = strconv.ParseInt(number, 10, 64)
			if err != nil || v.wantedSeq < 1 {
				return fmt.Errorf("%w: %q", ErrHash, v.o.Hash)
			}
			text = hash
		}
		hash, err := hex.DecodeString(text)
		if err != nil || len(hash) != len(chain.Hash{}) {
			return fmt.Errorf("%w: %q", ErrHash, v.o.Hash)
		}
		v.wanted = (*chain.Hash)(hash)
	}
	v.seen(&first)
	return nil
}

// errNoChain means that there is no chain to verify, which is a fault already.
var errNoChain = errors.New("there is no chain")

// ErrHash means that a text is no hash of a head, which has 64 hexadecimal digits.
var ErrHash = errors.New("no hash of a head")

// other is called with a head of another chain that was at the same place.
func (v *verifier) other(h *chain.Head) {
	if v.result.Heads.Other++; v.result.Heads.Other == 1 {
		v.fault(at(h.Seq), CutOff, "another chain was here, which had the head %s at decision %d: the journal was set aside, replaced or made anew", h.Hash, h.Seq)
	}
}

// seen notes that the chain has that head.
func (v *verifier) seen(hash *chain.Hash) {
	if len(v.known) > 0 {
		if _, ok := v.known[*hash]; ok {
			v.result.Heads.Found++
			delete(v.known, *hash)
		}
	}
	if v.wanted != nil && *v.wanted == *hash {
		v.wanted = nil
		v.result.Heads.Found++
	}
}

// next verifies the next entry.
func (v *verifier) next(e *entry) {
	defer func() { v.last = max(v.last, e.place) }()
	if e.kind == chain.Record {
		v.noteAdded(e)
		v.listedUpTo(e)
	}
	switch {
	case e.hash == nil && e.prev == nil && e.seq <= v.start:
		v.result.Unchained++
		v.misplace(e, e.misplaced)
		return
	case e.kind == chain.Record && e.seq <= v.start:
		v.fault(e, Forged, "it has a hash, although the chain begins after decision %d", v.start)
		return
	case len(e.hash) != len(chain.Hash{}) || len(e.prev) != len(chain.Hash{}):
		v.fault(e, Forged, "it has no hash, although the chain began before it")
		return
	}
	hash, prev := chain.Hash(e.hash), chain.Hash(e.prev)
	should := e.should(&v.id, &prev)
	right := e.bad == "" && hash == should
	if e.place <= v.cut {
		v.kept--
		v.keptSum.Subtract(e.hash)
		if e.kind != chain.Record && (e.n < 1 || e.n > v.count) {
			v.fault(e, Changed, "%s has the number %d, and there were %d entries", e.name(), e.n, v.count)
		}
	} else {
		v.link(e, &prev, right)
		if v.count++; e.kind != chain.Record && e.n != v.count {
			v.fault(e, Missing, "%s was entry %d, and now is entry %d", e.name(), e.n, v.count)
			v.count = e.n
		}
		v.seen(&hash)
		v.expected = [2]chain.Hash{hash, should}
	}
	switch {
	case !right:
		v.fault(e, Changed, "%s", e.wrong())
		if len(v.suspects) < maxSuspects {
			kept := *e
			v.suspects = append(v.suspects, &kept)
		}
		return
	case e.kind != chain.Record:
		v.result.Added++
		v.match(e)
		return
	}
	v.misplace(e, e.misplaced)
	if v.result.Decisions++; v.result.Since.IsZero() {
		v.result.Since = time.Unix(0, e.time).UTC()
	}
}

// link compares what an entry continues with the entry before.
func (v *verifier) link(e *entry, prev *chain.Hash, right bool) {
	if *prev == v.expected[0] || *prev == v.expected[1] {
		return
	}
	first, end := v.last+1, e.place // of the missing decisions
	if e.kind != chain.Record {
		end++
	}
	switch {
	case first < end:
		v.gone = append(v.gone, [2]int64{first, end})
		v.fault(at(first), Missing, "%s", missing(first, end-1))
	case !right: // that is said anyway
	case e.kind == chain.Record:
		v.fault(e, Forged, "it does not continue the entry before it: one of them was replaced, or one between them is missing")
	default:
		v.fault(e, Forged, "%s does not continue the entry before it: one of them was replaced, or one between them is missing", e.name())
	}
}

// missing says which decisions are.
func missing(first, last int64) string {
	if first == last {
		return fmt.Sprintf("decision %d is missing", first)
	}
	return fmt.Sprintf("decisions %d to %d are missing", first, last)
}

// noteAdded records the answer and the reports in a decision's row, to compare them with the
// entries of the chain.
func (v *verifier) noteAdded(e *entry) {
	for _, a := range e.added {
		v.added[addedKey{e.seq, a.kind}] = a.content
	}
	if e.odd != "" {
		v.fault(e, Changed, "%s", e.odd)
	}
}

// match compares an entry about what was added to a record with the record's row.
func (v *verifier) match(e *entry) {
	key := addedKey{e.seq, e.kind}
	content, ok := v.added[key]
	switch {
	case !ok:
		if len(v.unmatched) < 100*maxFaults {
			kept := *e
			v.unmatched = append(v.unmatched, &kept)
		}
		return
	case content != e.content:
		v.fault(e, Changed, "%s is not what was stored", e.name())
	}
	delete(v.added, key)
}

// unmatchedEntries looks at what was added to records that do not have it: retention may
// have removed the record.
func (v *verifier) unmatchedEntries(ctx context.Context, conn *sql.Conn) error {
	for _, e := range v.unmatched {
		var id string
		err := conn.QueryRowContext(ctx, "SELECT id FROM decisions WHERE seq = ?", e.seq).Scan(&id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			if e.seq > v.cut && !slices.ContainsFunc(v.gone, func(r [2]int64) bool { return r[0] <= e.seq && e.seq < r[1] }) {
				v.fault(e, Missing, "decision %d is missing, which had %s", e.seq, e.name())
			}
		case err != nil:
			return err
		default:
			e.idText = id
			v.fault(e, Missing, "%s is missing", e.name())
		}
	}
	for key := range v.added {
		if key.seq > v.start {
			e := &entry{seq: key.seq, kind: key.kind}
			v.fault(e, Forged, "%s is no entry of the chain", e.name())
		}
	}
	return nil
}

// reordered finds changed entries that hold what others held: they were exchanged.
func (v *verifier) reordered() {
	for _, e := range v.suspects {
		for _, other := range v.suspects {
			if e == other || e.kind != other.kind || e.contentAt == nil {
				continue
			}
			// The number is part of the content, so it is made anew for the other place.
			moved := e.contentAt(other.seq)
			for _, has := range []struct {
				entry   *entry // which has the hashes
				content *chain.Hash
			}{{other, &moved}, {e, &moved}, {other, &e.content}} {
				if prev := chain.Hash(has.entry.prev); chain.Linked(&v.id, &prev, has.content) == chain.Hash(has.entry.hash) {
					v.setKind(e.seq, Reordered, fmt.Sprintf("it stands in the place of another one: it was exchanged with decision %d", other.seq))
				}
			}
		}
	}
}

// setKind changes what is said of an entry that was changed.
func (v *verifier) setKind(seq int64, kind FaultKind, text string) {
	for i := range v.result.Faults {
		if f := &v.result.Faults[i]; f.Seq == seq && f.Kind == Changed {
			f.Kind, f.Text = kind, text
			return
		}
	}
}

// finish compares the chain's end with where it should be.
func (v *verifier) finish() {
	v.result.Head = chain.Head{
		Chain: hex.EncodeToString(v.id[:]), Seq: v.newest, Entries: v.entries, Hash: hex.EncodeToString(v.head[:]),
	}
	switch {
	case v.last < v.newest:
		v.fault(at(v.last+1), CutOff, "%s, at the end", missing(v.last+1, v.newest))
	case v.last > max(v.newest, v.start):
		v.fault(at(v.newest+1), Forged, "the decisions after %d are not part of the chain", v.newest)
	case *v.head != v.expected[0] && *v.head != v.expected[1]:
		v.fault(at(v.newest), CutOff, "the newest entry is not the one that was stored last: some at the end are missing, or forged")
	}
	if v.count != v.entries && len(v.result.Faults) == 0 {
		v.fault(at(v.newest), Missing, "there were %d entries, and now are %d", v.entries, v.count)
	}
	if v.kept != 0 || v.keptSum != (chain.Sum{}) {
		v.fault(at(v.cut), Missing, "of what retention kept up to decision %d, something is missing, forged or changed", v.cut)
	}
	for _, h := range v.known {
		switch {
		case h.Seq <= v.cut:
			v.result.Heads.Removed++
		case h.Entries > v.entries || h.Seq > v.newest:
			v.fault(at(h.Seq), CutOff, "the chain had %d entries up to decision %d, with the head %s; it has %d up to %d", h.Entries, h.Seq, h.Hash, v.entries, v.newest)
		default:
			v.fault(at(h.Seq), Forged, "the chain had the head %s at decision %d, which is not in it: entries up to it are missing, or were made anew", h.Hash, h.Seq)
		}
	}
	switch {
	case v.wanted == nil:
	case v.wantedSeq > 0 && v.wantedSeq <= v.cut:
		v.result.Heads.Removed++
	default:
		v.fault(at(0), CutOff, "the head %s is not in the chain: its decision was removed, or the chain was cut off before it or made anew", hex.EncodeToString(v.wanted[:]))
	}
}
