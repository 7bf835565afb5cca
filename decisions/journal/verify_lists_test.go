//go:build cgo

package journal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/internal/testload"
)

// TestVerifyFindsHidden hides decisions from lists, without a change of the decisions.
func TestVerifyFindsHidden(t *testing.T) {
	const askedOf = "(SELECT kind FROM kinds WHERE verdict = 'ask' LIMIT 1)"
	from := map[bool]string{}
	for _, limited := range []bool{false, true} {
		from[limited], _ = ofClosed(t, limited)
	}
	for _, tc := range testload.WithShort(t, 8, []struct{ name, do string }{
		{"moved to a number that no decision has", "UPDATE listed SET seq = seq + 100000 WHERE seq = ?"},
		{"moved to the number of another one", "UPDATE listed SET seq = seq + 1 WHERE seq = ?"},
		{"moved to another kind", "UPDATE listed SET kind = (SELECT kind FROM listed l WHERE l.seq = listed.seq + 1) WHERE seq = ?"},
		{"at another time", "UPDATE listed SET time = time - 1 WHERE seq = ?"},
		{"invented", "INSERT INTO listed SELECT kind, 100000 + ?, time FROM listed LIMIT 1"},
		{"listed twice", "INSERT INTO listed SELECT kinds.kind, seq, time FROM listed, kinds WHERE seq = ? AND kinds.kind <> listed.kind LIMIT 1"},
		{"the kind has another session", "UPDATE kinds SET session = 'x' WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind has another agent", "UPDATE kinds SET agent = 'x' WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind has another tool", "UPDATE kinds SET tool = 'x' WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind has another verdict", "UPDATE kinds SET verdict = 'deny' WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind has another decider", "UPDATE kinds SET decided_by = 'x' WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind has another outcome", "UPDATE kinds SET outcome = 'x' WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind has another user", "UPDATE kinds SET uid = uid + 1 WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind ends before it", "UPDATE kinds SET newest = 0 WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind ends one earlier", "UPDATE kinds SET newest = newest - 1 WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind ends later", "UPDATE kinds SET newest = newest + 1000 WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind begins after it", "UPDATE kinds SET oldest = 999 WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"the kind begins before all", "UPDATE kinds SET oldest = -1 WHERE kind = (SELECT kind FROM listed WHERE seq = ?)"},
		{"a kind is invented", "INSERT INTO kinds SELECT 100000, ?, 'x', agent, tool, verdict, decided_by, outcome, oldest, 100000 FROM kinds LIMIT 1"},
		{"times are deleted", "DELETE FROM spans WHERE span = ? / 1024"},
		{"times end earlier", "UPDATE spans SET newest = newest - 1 WHERE span = ? / 1024"},
		{"times begin later", "UPDATE spans SET oldest = newest WHERE span = ? / 1024"},
		{"times are of others", "UPDATE spans SET span = 9 WHERE span = ? / 1024"},
		{"times are invented", "INSERT INTO spans SELECT 9, oldest, newest FROM spans WHERE span = ? / 1024"},
		{"a text that is not shared", "INSERT INTO bodies VALUES (100000 + ?, x'78')"},
		{"an entry with the number -1", "UPDATE notes SET n = -1 WHERE n = (SELECT min(n) FROM notes) AND ? > 0"},
	}) {
		for _, limited := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/limited=%v", tc.name, limited), func(t *testing.T) {
				d := copyOf(t, from[limited], rand.New(rand.NewPCG(1, 2)))
				seq := d.one(t, "SELECT max(seq) FROM listed WHERE seq < 480 AND kind = "+askedOf)
				result, err := d.Exec(tc.do, seq)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := result.RowsAffected(); err != nil || n == 0 {
					t.Fatalf("%d rows were changed, %v", n, err)
				}
				if faults := d.finds(t); len(faults) == 0 || len(faults) > 30 {
					t.Errorf("%d faults: %s", len(faults), kinds(faults))
				}
			})
		}
	}
}

// TestVerifyRemovedHead compares with heads of decisions that retention has removed.
func TestVerifyRemovedHead(t *testing.T) {
	from, _ := ofClosed(t, true)
	d := copyOf(t, from, nil)
	cut := d.one(t, "SELECT cut FROM retained")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	hash := strings.Repeat("ab", 32)
	for with, faults := range map[string]int{
		fmt.Sprint(cut, ":", hash):   0,
		fmt.Sprint(1, ":", hash):     0,
		fmt.Sprint(cut+1, ":", hash): 1,
		hash:                         1,
	} {
		v := verifyFile(t, from, verify.Options{Hash: with})
		if len(v.Faults) != faults || v.Heads.Removed != 1-faults {
			t.Errorf("%s: %+v, %+v; want %d faults", with, v.Faults, v.Heads, faults)
		}
	}
}
