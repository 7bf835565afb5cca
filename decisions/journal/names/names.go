// Package names tells which decisions of a span have a name: a project, a program, a host or
// a path. A span is all decisions whose numbers have the same quotient by [Size]. A row of a
// span is made of its records once, and then found by instead of them.
package names

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"path"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/tally"
)

const (
	// Size is the number of decisions of a span.
	Size = 1 << body.SpanBits
	// maxBytes bounds the names of a span. Where there are more, records are read.
	maxBytes = 1 << 20
	// maxNames bounds their number: each takes about 160 bytes while a row is made.
	maxNames = 16 * Size
)

// Kind is what a name is of.
type Kind int

// The kinds, in the order of the columns.
const (
	Projects Kind = iota
	Programs
	Hosts
	Paths
	Kinds // is their number
)

// Name is a name that a decision has.
type Name struct {
	Kind Kind
	Text string
}

// Of returns the names of a record. Each record has a project and a program, if only "" for none.
func Of(rec *decisions.Record) []Name {
	list := append(make([]Name, 0, 4), Name{Projects, rec.Project})
	for _, text := range ProgramsOf(rec) {
		list = append(list, Name{Programs, text})
	}
	for _, text := range HostsOf(rec) {
		list = append(list, Name{Hosts, text})
	}
	for i := range rec.Details {
		if text := rec.Details[i].Path; text != "" {
			list = append(list, Name{Paths, text})
		}
	}
	return list
}

// ProgramsOf returns the programs that a call would run, by the last name of their paths: "" for
// a call that runs none.
func ProgramsOf(rec *decisions.Record) (list []string) {
	for i := range rec.Details {
		if words := rec.Details[i].Words; len(words) > 0 {
			if name := path.Base(words[0]); !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	if list == nil {
		return []string{""}
	}
	return list
}

// HostsOf returns the hosts that a call would reach.
func HostsOf(rec *decisions.Record) (list []string) {
	for i := range rec.Details {
		if host := rec.Details[i].Host; host != "" && !slices.Contains(list, host) {
			list = append(list, host)
		}
	}
	return list
}

// Row is what is stored of a span. A nil Decided means that its records must be read.
type Row struct {
	Decided []byte // two bits for each decision, see verdicts
	Counts  []byte
	Names   [Kinds][]byte
}

// Sum is a hash of a row.
type Sum [sha256.Size]byte

// Sum returns the hash of the row, zero if its records must be read.
func (r *Row) Sum() (s Sum) {
	if r.Decided == nil {
		return s
	}
	h := sha256.New()
	for _, column := range append([][]byte{r.Decided, r.Counts}, r.Names[:]...) {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(column)))
		h.Write(size[:])
		h.Write(column)
	}
	h.Sum(s[:0])
	return s
}

// verdicts are the verdicts by their numbers in Decided: 0 if there is no such decision.
var verdicts = [...]decisions.Verdict{"", decisions.Allow, decisions.Ask, decisions.Deny}

// Builder makes the row of a span. The zero Builder is that of a span without decisions.
type Builder struct {
	decided [Size / 4]byte
	counts  map[tally.Values]int64
	names   [Kinds]map[string]*Set
	bytes   int
	number  int
	odd     bool
}

// Add adds decision number i of the span with its names.
func (b *Builder) Add(i int, verdict decisions.Verdict, list []Name) {
	n := slices.Index(verdicts[1:], verdict) + 1
	if n == 0 || len(list) == 0 {
		b.odd = true
		return
	}
	b.decided[i/4] |= byte(n << (i % 4 * 2))
	for _, name := range list {
		of := b.names[name.Kind]
		if of == nil {
			of = map[string]*Set{}
			b.names[name.Kind] = of
		}
		set := of[name.Text]
		if set == nil {
			b.bytes, b.number = b.bytes+len(name.Text), b.number+1
			if b.bytes > maxBytes || b.number > maxNames {
				b.odd = true
				return
			}
			set = new(Set)
			of[name.Text] = set
		}
		set.Add(i)
	}
}

// Count adds n decisions with these values.
func (b *Builder) Count(v tally.Values, n int64) {
	if b.counts == nil {
		b.counts = map[tally.Values]int64{}
	}
	b.counts[v] += n
}

// Row returns the row. It is the same for the same decisions.
func (b *Builder) Row() (r Row) {
	if b.odd {
		return Row{}
	}
	r.Decided = b.decided[:]
	r.Counts = []byte{}
	for _, v := range slices.SortedFunc(maps.Keys(b.counts), func(a, b tally.Values) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.DecidedBy, b.DecidedBy), cmp.Compare(a.Verdict, b.Verdict))
	}) {
		for _, text := range [...]string{v.Agent, v.Tool, v.DecidedBy, v.Verdict} {
			r.Counts = appendText(r.Counts, text)
		}
		r.Counts = binary.AppendUvarint(r.Counts, uint64(b.counts[v]))
	}
	for kind, of := range b.names {
		data := []byte{}
		for _, text := range slices.Sorted(maps.Keys(of)) {
			data = of[text].append(appendText(data, text))
		}
		r.Names[kind] = data
	}
	return r
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// cutNumber cuts a number from data.
func cutNumber(data []byte) (n uint64, rest []byte, ok bool) {
	n, size := binary.Uvarint(data)
	if size <= 0 {
		return 0, nil, false
	}
	return n, data[size:], true
}

// cutText cuts a text from data.
func cutText(data []byte) (text, rest []byte, ok bool) {
	n, rest, ok := cutNumber(data)
	if !ok || n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}

// Each calls use for each name of a kind, with the decisions that have it. The text and the set
// are valid until it returns. It is false if the row is not as a Builder makes it.
func (r *Row) Each(kind Kind, use func(text []byte, of *Set)) bool {
	var set Set
	for data := r.Names[kind]; len(data) > 0; {
		text, rest, ok := cutText(data)
		if !ok {
			return false
		}
		if data, ok = set.cut(rest); !ok {
			return false
		}
		use(text, &set)
	}
	return true
}

// Valid reports whether the names of some kinds are as a Builder makes them. Each decision has a
// project and a program.
func (r *Row) Valid(kinds [Kinds]bool) bool {
	all, _ := r.Verdict("")
	for kind, wanted := range kinds {
		if !wanted {
			continue
		}
		var having Set
		ok := r.Each(Kind(kind), func(_ []byte, of *Set) { having.Or(of) })
		if Kind(kind) == Projects || Kind(kind) == Programs {
			ok = ok && having == all
		}
		if !ok {
			return false
		}
	}
	return true
}

// Having returns the decisions with a name of a kind that is wanted.
func (r *Row) Having(kind Kind, wanted func(text []byte) bool) (found Set, ok bool) {
	for data := r.Names[kind]; len(data) > 0; {
		text, rest, ok := cutText(data)
		if !ok {
			return found, false
		}
		if !wanted(text) {
			if data, ok = skip(rest); !ok {
				return found, false
			}
			continue
		}
		var set Set
		if data, ok = set.cut(rest); !ok {
			return found, false
		}
		found.Or(&set)
	}
	return found, true
}

// Verdict returns the decisions of the span with a verdict, all for "".
func (r *Row) Verdict(verdict decisions.Verdict) (set Set, ok bool) {
	if len(r.Decided) != Size/4 {
		return set, false
	}
	for i := range Size {
		if n := r.Decided[i/4] >> (i % 4 * 2) & 3; n > 0 && (verdict == "" || verdicts[n] == verdict) {
			set.Add(i)
		}
	}
	return set, true
}

// Len returns the number of decisions of the span, 0 if the row is not as a Builder makes it.
func (r *Row) Len() int {
	all, _ := r.Verdict("")
	return all.Len()
}

// EachCount calls use for each of the counts. It is false if the row is not as a Builder makes it,
// or counts another number of decisions than it has.
func (r *Row) EachCount(use func(v tally.Values, n int64)) bool {
	sum := uint64(0)
	for data := r.Counts; len(data) > 0; {
		var v tally.Values
		for _, to := range []*string{&v.Agent, &v.Tool, &v.DecidedBy, &v.Verdict} {
			text, rest, ok := cutText(data)
			if !ok {
				return false
			}
			*to, data = string(text), rest
		}
		n, rest, ok := cutNumber(data)
		if !ok || n > Size {
			return false
		}
		use(v, int64(n))
		sum += n
		data = rest
	}
	return sum == uint64(r.Len())
}
