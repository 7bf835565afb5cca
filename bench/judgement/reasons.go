package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
)

// maxReasonShare is how many of the asks may give the same reason, as a share.
const maxReasonShare = 0.15

// reasonsScore counts the reasons that questions give: of all corpora together, and of
// each, without the calls with memory, which repeat the others.
type reasonsScore struct {
	All      reasonShare            `json:"all"`
	ByCorpus map[string]reasonShare `json:"by_corpus"`

	counted []countedReason // of all corpora
}

// reasonShare is the most frequent reason among some questions.
type reasonShare struct {
	Reason string  `json:"reason"`
	Count  int     `json:"count"`
	Asks   int     `json:"asks"`
	Share  float64 `json:"share"`
}

type countedReason struct {
	reason string
	count  int
}

// reasons counts the reasons of the questions found so far.
func (f *findings) reasons() *reasonsScore {
	all, corpora := map[string]int{}, map[string]map[string]int{}
	for i := range f.list {
		x := &f.list[i]
		corpus, _, _ := strings.Cut(x.classes[0], ".")
		if corpus == "memory" || x.verdict != decisions.Ask {
			continue
		}
		all[x.plain]++
		if corpora[corpus] == nil {
			corpora[corpus] = map[string]int{}
		}
		corpora[corpus][x.plain]++
	}
	s := &reasonsScore{All: shareOf(all), ByCorpus: map[string]reasonShare{}, counted: byCount(all)}
	for corpus, counts := range corpora {
		s.ByCorpus[corpus] = shareOf(counts)
	}
	return s
}

func byCount(counts map[string]int) []countedReason {
	var list []countedReason
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, countedReason{reason, counts[reason]})
	}
	slices.SortStableFunc(list, func(a, b countedReason) int { return cmp.Compare(b.count, a.count) })
	return list
}

func shareOf(counts map[string]int) reasonShare {
	var s reasonShare
	for _, n := range counts {
		s.Asks += n
	}
	if s.Asks > 0 {
		first := byCount(counts)[0]
		s.Reason, s.Count = first.reason, first.count
		s.Share = round(float64(s.Count) / float64(s.Asks))
	}
	return s
}

// plainReason returns the reason of a decision without what it takes from the call, so
// that "runs the script a of package.json" and "… b …" count as one.
func (o *result) plainReason() string {
	reason, _, _ := strings.Cut(o.Reason, "; ")
	for i := range o.effects {
		if r := o.effects[i].Run; r != nil && r.Does == reason {
			for _, w := range r.Operands {
				reason = strings.Replace(reason, " "+w+" ", " … ", 1)
			}
			if words, found := strings.CutSuffix(reason, " "+strings.Join(r.Operands, " ")); found && len(r.Operands) > 0 {
				reason = words + " …"
			}
			break
		}
	}
	for _, begins := range []string{"not understood: ", "guarded: ", "listed under "} {
		if rest, ok := strings.CutPrefix(reason, begins); ok {
			rest, _, _ = strings.Cut(rest, ": ")
			return begins + rest
		}
	}
	if begins, _, ok := strings.Cut(reason, ": "); ok {
		return begins
	}
	return reason
}
