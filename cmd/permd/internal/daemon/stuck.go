package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/underway"
)

// StuckDecisions are decisions that are under way for too long, at one place.
type StuckDecisions struct {
	// Where is "slot", "files", "rules" or "journal".
	Where underway.Place `json:"where"`
	// Mount is the mount point that they look at files below, if that is where they are.
	Mount string    `json:"mount,omitzero"`
	Count int       `json:"count"`
	Since time.Time `json:"since"` // when the first of them began
}

// beyondDeadline is how much longer than it may take a decision is under way before it
// counts as stuck: a busy machine needs some time to notice that there is none left.
const beyondDeadline = 3 * time.Second

// stuck returns the decisions that are stuck, by their places.
func (d *daemon) stuck(now time.Time) []StuckDecisions {
	limit := time.Duration(d.rules.Settings.Limits.DecisionMilliseconds)*time.Millisecond + beyondDeadline
	return stuckAt(d.underway.Late(now.Add(-limit)), mounts.Point)
}

// maxStuckPlaces bounds the places that are told apart. A request that looks at files
// names the path, and so the mount.
const maxStuckPlaces = 16

// stuckAt counts requests by their places, the one with the oldest first.
func stuckAt(late []underway.Late, pointOf func(path string) string) []StuckDecisions {
	type place struct {
		where underway.Place
		mount string
	}
	slices.SortFunc(late, func(a, b underway.Late) int { return a.Since.Compare(b.Since) })
	all := map[place]*StuckDecisions{}
	points := map[string]string{} // by path: many requests look at the same file
	for i := range late {
		l := &late[i]
		at := place{where: l.Place}
		if l.Path != "" {
			point, ok := points[l.Path]
			if !ok && len(points) < maxStuckPlaces {
				point = strings.ToValidUTF8(pointOf(l.Path), "\uFFFD")
				points[l.Path] = point
			}
			at.mount = point
		}
		if all[at] == nil && len(all) >= maxStuckPlaces {
			at.mount = "" // the places alone are few
		}
		s := all[at]
		if s == nil {
			s = &StuckDecisions{Where: at.where, Mount: at.mount, Since: l.Since}
			all[at] = s
		}
		s.Count++
	}
	list := make([]StuckDecisions, 0, len(all))
	for _, s := range all {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b StuckDecisions) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Mount, b.Mount))
	})
	if len(list) == 0 {
		return nil
	}
	return list
}

// place says in words where decisions are stuck.
func (s *StuckDecisions) place() string {
	switch {
	case s.Where == underway.AtFiles && s.Mount != "":
		return "below " + display.Display(s.Mount)
	case s.Where == underway.AtFiles:
		return "at files"
	case s.Where == underway.AtSlot:
		return "waiting for others to be decided"
	case s.Where == underway.AtJournal:
		return "waiting for the journal"
	}
	return "in the rules"
}

// StuckLine is decisions that are stuck, in one line.
func StuckLine(s StuckDecisions, now time.Time) string {
	return fmt.Sprintf("%s stuck for %s %s", cli.Plural(s.Count, "decision"), now.Sub(s.Since).Round(time.Second), s.place())
}

// since is StuckLine for a text that nobody updates every second.
func (s *StuckDecisions) since() string {
	return fmt.Sprintf("%s stuck since %s %s", cli.Plural(s.Count, "decision"), s.Since.Local().Format(time.TimeOnly), s.place())
}
