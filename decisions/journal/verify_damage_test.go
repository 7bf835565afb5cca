//go:build cgo

package journal_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/internal/testload"
)

// damaged is a copy of a journal, to be damaged.
type damaged struct {
	*sql.DB
	path   string
	random *rand.Rand
}

func (d *damaged) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := d.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// one returns a value of one column and row.
func (d *damaged) one(t *testing.T, query string, args ...any) (n int64) {
	t.Helper()
	if err := d.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// copyOf copies the database of a closed journal.
func copyOf(t *testing.T, from string, random *rand.Rand) *damaged {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(filepath.Dir(path(t)), "decisions.db")
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", to)
	if err != nil {
		t.Fatal(err)
	}
	return &damaged{db, to, random}
}

// value is another value than the one that is there: one byte is different, or it is gone
// or new.
func (d *damaged) value(t *testing.T, table, column string, row int64) any {
	t.Helper()
	var old any
	if err := d.QueryRow("SELECT "+column+" FROM "+table+" WHERE rowid = ?", row).Scan(&old); err != nil {
		t.Fatal(err)
	}
	flip := func(b []byte) []byte {
		if len(b) == 0 {
			return []byte("x")
		}
		b = slices.Clone(b)
		b[d.random.IntN(len(b))] ^= byte(1 + d.random.IntN(127))
		return b
	}
	switch old := old.(type) {
	case int64:
		return old ^ 1<<d.random.IntN(40)
	case string:
		return string(flip([]byte(old)))
	case []byte:
		return flip(old)
	}
	var kind string
	if err := d.QueryRow("SELECT type FROM pragma_table_info('"+table+"') WHERE name = ?", column).Scan(&kind); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"INTEGER": int64(1), "TEXT": "ran", "BLOB": []byte("{}")}[kind]
}

// finds verifies, and returns the faults.
func (d *damaged) finds(t *testing.T, known ...chain.Head) []verify.Fault {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return verifyFile(t, d.path, verify.Options{Known: known}).Faults
}

func kinds(faults []verify.Fault) string {
	var list []string
	for _, f := range faults {
		list = append(list, fmt.Sprint(f.Seq, " ", f.Kind))
	}
	return strings.Join(list, ", ")
}

// ofClosed makes a journal of which retention has removed a part if limited.
func ofClosed(t *testing.T, limited bool) (string, chain.Head) {
	t.Helper()
	var head chain.Head
	o := journal.Options{Path: path(t), Head: func(h chain.Head) { head = h }}
	if limited {
		// A few decisions with choices are kept among those that are removed.
		o.MaxBytes = 300 << 10
		o.Referenced = func(choice string) bool { return strings.HasSuffix(choice, "1") }
		o.Now = func() time.Time { return noon.AddDate(1, 0, 0) }
	}
	j, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	chained(t, j, 1, 500)
	if limited {
		journal.Drained(t, j)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	v := verifyFile(t, o.Path, verify.Options{Known: []chain.Head{head}})
	clean(t, v)
	if limited == (v.Decisions == 499) {
		t.Fatalf("%d decisions are left", v.Decisions)
	}
	return o.Path, head
}

// change is one value that is changed.
type change struct {
	limited       bool
	table, column string
}

// TestVerifyFindsChanges changes one value of the tables that make the journal, in every
// column.
func TestVerifyFindsChanges(t *testing.T) {
	var changes []change
	from := map[bool]string{}
	for _, limited := range []bool{false, true} {
		from[limited], _ = ofClosed(t, limited)
		db, err := sql.Open("sqlite3", from[limited])
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"decisions", "notes", "chain", "retained", "bodies"} {
			rows, err := db.Query("SELECT name FROM pragma_table_info('" + table + "')")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				c := change{limited, table, ""}
				if err := rows.Scan(&c.column); err != nil {
					t.Fatal(err)
				}
				// How many were removed, and when, is no part of the chain.
				if c.column != "one" && c.column != "removed" && c.column != "cut_at" {
					changes = append(changes, slices.Repeat([]change{c}, 40)...)
				}
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(changes) < 2*30*40 {
		t.Fatalf("there are only %d changes to try", len(changes))
	}
	seed := testload.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	tried := 0
	sample := testload.SampleOf(t, 100, changes, func(c change) string {
		if testing.Short() {
			return c.table
		}
		return fmt.Sprint(c)
	})
	for _, c := range sample {
		d := copyOf(t, from[c.limited], random)
		rows := map[string]string{
			"notes":  " WHERE seq IN (SELECT seq FROM decisions)", // of removed ones there are only hashes
			"bodies": " WHERE first IN (SELECT shared FROM decisions)",
		}
		if c.column == "n" || c.column == "after" { // those that are kept have no order among each other
			rows["notes"] += " AND after > (SELECT cut FROM retained)"
		}
		row := d.one(t, "SELECT rowid FROM "+c.table+rows[c.table]+" ORDER BY random() LIMIT 1")
		value := d.value(t, c.table, c.column, row)
		if _, err := d.Exec("UPDATE "+c.table+" SET "+c.column+" = ? WHERE rowid = ?", value, row); err != nil {
			d.Close() // a number that is taken
			continue
		}
		tried++
		if faults := d.finds(t); len(faults) == 0 {
			t.Errorf("%+v: row %d became %.60q, and nothing was found", c, row, fmt.Sprint(value))
		}
	}
	if tried < len(sample)/2 {
		t.Errorf("only %d of %d changes were tried", tried, len(sample))
	}
}

// TestVerifyFindsAttacks does what somebody does who wants to hide or invent a decision.
func TestVerifyFindsAttacks(t *testing.T) {
	const columns = `format, id, time, uid, session, agent, tool, verdict, decided_by, latency, answered_at, answer, answer_info, record, shared, ran_at, ended_at, ended_as`
	swap := func(what string) func(t *testing.T, d *damaged, seq int64) {
		return func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "CREATE TABLE x AS SELECT "+what+" FROM decisions WHERE seq = ?", seq)
			for _, c := range strings.Split(what, ", ") {
				d.exec(t, "UPDATE decisions SET "+c+" = (SELECT "+c+" FROM decisions WHERE seq = ?) WHERE seq = ?", seq+1, seq)
				d.exec(t, "UPDATE decisions SET "+c+" = (SELECT "+c+" FROM x) WHERE seq = ?", seq+1)
			}
			d.exec(t, "DROP TABLE x")
		}
	}
	from, head := map[bool]string{}, map[bool]chain.Head{}
	for _, limited := range []bool{false, true} {
		from[limited], head[limited] = ofClosed(t, limited)
	}
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, d *damaged, seq int64)
		want verify.FaultKind
		at   int64 // after seq
	}{
		{"a decision is deleted", func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "DELETE FROM decisions WHERE seq = ?", seq)
		}, verify.Missing, 0},
		{"a decision is deleted with what was added to it", func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "DELETE FROM decisions WHERE seq = ?", seq)
			d.exec(t, "DELETE FROM notes WHERE seq = ?", seq)
		}, verify.Missing, 0},
		{"ten are deleted", func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "DELETE FROM decisions WHERE seq >= ? AND seq < ?", seq, seq+10)
		}, verify.Missing, 0},
		{"two are exchanged", swap(columns), verify.Reordered, 0},
		{"two are exchanged with their hashes", swap(columns + ", prev_hash, hash"), verify.Reordered, 0},
		{"the hashes of two are exchanged", swap("prev_hash, hash"), verify.Reordered, 0},
		{"the verdict", func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "UPDATE decisions SET verdict = 'deny' WHERE seq = ?", seq)
		}, verify.Changed, 0},
		{"one is invented without a hash", func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "DELETE FROM decisions WHERE seq = ?", seq)
			d.exec(t, "INSERT INTO decisions (seq, "+columns+") SELECT ?, "+columns+" FROM decisions WHERE seq = ?", seq, seq+4)
		}, verify.Forged, 0},
		{"one is invented with the hash that it must have", func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "UPDATE decisions SET hash = ? WHERE seq = ?", d.rehash(t, seq, "deny"), seq)
		}, verify.Forged, -100},
		{"an answer is invented", func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "UPDATE decisions SET answered_at = 1, answer = 'allow' WHERE seq = ?", seq+2-seq%5+5)
		}, verify.Forged, -100},
		{"an answer is deleted", func(t *testing.T, d *damaged, seq int64) {
			seq += 6 - seq%5
			d.exec(t, "UPDATE decisions SET answered_at = NULL, answer = NULL, answer_info = NULL WHERE seq = ?", seq)
		}, verify.Missing, -100},
		{"an answer is deleted with its entry", func(t *testing.T, d *damaged, seq int64) {
			seq += 6 - seq%5
			d.exec(t, "UPDATE decisions SET answered_at = NULL, answer = NULL, answer_info = NULL WHERE seq = ?", seq)
			d.exec(t, "DELETE FROM notes WHERE seq = ?", seq)
		}, verify.Forged, -100},
		{"the last are cut off", func(t *testing.T, d *damaged, _ int64) {
			d.exec(t, "DELETE FROM decisions WHERE seq > 480")
			d.exec(t, "DELETE FROM notes WHERE after > 480")
		}, verify.CutOff, -100},
		{"the last are cut off, and the head is the one before", func(t *testing.T, d *damaged, _ int64) {
			d.exec(t, "DELETE FROM decisions WHERE seq > 480")
			d.exec(t, "DELETE FROM notes WHERE after >= 480")
			d.exec(t, "UPDATE chain SET newest = 480, head = (SELECT hash FROM decisions WHERE seq = 480)")
			d.exec(t, "UPDATE chain SET entries = (SELECT entries FROM retained) + (SELECT count(*) FROM decisions, retained WHERE seq > cut) + (SELECT count(*) FROM notes, retained WHERE after > cut)")
		}, verify.CutOff, -100},
		{"one is appended", func(t *testing.T, d *damaged, _ int64) {
			d.exec(t, "INSERT INTO decisions (seq, "+columns+") SELECT 777, "+columns+" FROM decisions WHERE seq = 490")
		}, verify.Forged, -100},
		{"one is appended with the hash that it must have", func(t *testing.T, d *damaged, _ int64) {
			d.exec(t, "INSERT INTO decisions (seq, "+columns+", prev_hash) SELECT 777, "+columns+", (SELECT head FROM chain) FROM decisions WHERE seq = 490")
			d.exec(t, "UPDATE decisions SET hash = ? WHERE seq = 777", d.rehash(t, 777, "allow"))
		}, verify.Forged, -100},
		{"it is taken out of lists", func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "DELETE FROM listed WHERE seq = ?", seq)
		}, verify.Missing, -100},
		{"a kind is taken out of lists", func(t *testing.T, d *damaged, seq int64) {
			d.exec(t, "DELETE FROM kinds WHERE kind = (SELECT kind FROM listed WHERE seq = ?)", seq)
		}, verify.Missing, -100},
		{"the chain's end is deleted", func(t *testing.T, d *damaged, _ int64) {
			d.exec(t, "DELETE FROM chain")
		}, verify.Missing, -100},
		{"all hashes are deleted", func(t *testing.T, d *damaged, _ int64) {
			d.exec(t, "UPDATE decisions SET prev_hash = NULL, hash = NULL")
			d.exec(t, "DELETE FROM notes")
			d.exec(t, "UPDATE chain SET start = newest, entries = 0, head = NULL, kept = 0, kept_sum = NULL")
			d.exec(t, "UPDATE retained SET hash = NULL, entries = 0")
		}, verify.CutOff, -100},
	} {
		for _, limited := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/limited=%v", tc.name, limited), func(t *testing.T) {
				d := copyOf(t, from[limited], rand.New(rand.NewPCG(1, 2)))
				seq := int64(440) + rand.Int64N(8)
				tc.do(t, d, seq)
				faults := d.finds(t, head[limited])
				ok := slices.ContainsFunc(faults, func(f verify.Fault) bool {
					return f.Kind == tc.want && (tc.at < 0 || f.Seq == seq+tc.at)
				})
				if !ok || len(faults) > 30 {
					t.Errorf("at %d: %s; want %s", seq, kinds(faults), tc.want)
				}
			})
		}
	}
}

// rehash sets the verdict of a decision, and returns the hash that it then has.
func (d *damaged) rehash(t *testing.T, seq int64, verdict string) []byte {
	t.Helper()
	d.exec(t, "UPDATE decisions SET verdict = ? WHERE seq = ?", verdict, seq)
	var texts [6]string
	var at, uid, latency int64
	var prev, chain []byte
	err := d.QueryRow("SELECT time, uid, latency, decisions.id, session, agent, tool, verdict, decided_by, prev_hash, chain.id FROM decisions, chain WHERE seq = ?", seq).
		Scan(&at, &uid, &latency, &texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &texts[5], &prev, &chain)
	if err != nil {
		t.Fatal(err)
	}
	r, err := journal.OpenReadOnly(journal.Options{Path: d.path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, err := r.Get(t.Context(), texts[0])
	if err != nil {
		t.Fatal(err)
	}
	rec.Seq, rec.Answer, rec.Ran, rec.Ended = 0, nil, nil, nil
	text, err := journal.Encode(rec)
	if err != nil {
		t.Fatal(err)
	}
	return secondHash(chain, prev, 1, seq, at, uid, latency, texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], text)
}
