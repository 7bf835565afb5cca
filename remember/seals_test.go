//go:build cgo

package remember_test

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/remember"
)

// TestChangedRow: a row that differs from the one that permd wrote, in whatever decides
// what it matches, is damage of the whole memory: no allow counts, and every call asks,
// also at the starts after it, until a person has looked.
func TestChangedRow(t *testing.T) {
	t.Parallel()
	const deny, allow, gone = " WHERE verdict = 'deny'", " WHERE verdict = 'allow' AND revoked IS NULL", " WHERE revoked IS NOT NULL"
	text := func(old, changed string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			t.Helper()
			b, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(b, []byte(old)) {
				t.Fatal("the text is not in the file", err)
			}
			if err := os.WriteFile(path, bytes.ReplaceAll(b, []byte(old), []byte(changed)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	query := func(q string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { execute(t, path, q) }
	}
	damages := map[string]func(t *testing.T, path string){
		"text of a reject":         text("/p/rejected", "/p/rejecteb"),
		"text of an allow":         text("/opt/bin/mytool", "/opt/bin/mytoom"),
		"verdict":                  query("UPDATE choices SET verdict = 'allow'" + deny),
		"person":                   query("UPDATE choices SET uid = uid + 1" + deny),
		"kind":                     query("UPDATE choices SET kind = 'read'" + deny),
		"digest":                   query("UPDATE choices SET digest = zeroblob(32)" + allow),
		"encoding":                 query("UPDATE choices SET facts = 77" + deny),
		"scope":                    query("UPDATE choices SET scope = 'project', scope_key = '/q'" + deny),
		"session":                  query("UPDATE choices SET scope_conn = 3" + deny),
		"time":                     query("UPDATE choices SET created = created + 1" + allow),
		"expiry":                   query("UPDATE choices SET expires = 1" + deny),
		"confirmation":             query("UPDATE choices SET confirmed = NULL" + allow),
		"pins":                     query(`UPDATE choices SET pins = CAST('{}' AS BLOB)` + allow),
		"revocation of a reject":   query("UPDATE choices SET revoked = 0" + deny),
		"no revocation":            query("UPDATE choices SET revoked = NULL" + gone),
		"no seal":                  query("UPDATE choices SET seal = NULL" + deny),
		"key":                      query("UPDATE meta SET value = zeroblob(32) WHERE name = 'digest_key'"),
		"id":                       query("UPDATE choices SET id = 'x'" + deny),
		"the decision it answered": query("UPDATE choices SET decision = ''" + allow),
	}
	for _, name := range testload.WithShort(t, 5, slices.Sorted(maps.Keys(damages))) {
		damage := damages[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(path(t))
			s := open(t, o)
			save(t, s, remember.Draft{Verdict: decisions.Deny, Query: ask(file(effects.KindWrite, "/p/rejected")), Scope: remember.ForUser})
			save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("/opt/bin/mytool")), Scope: remember.ForUser, DecisionID: "d"})
			forgotten := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("/opt/bin/other")), Scope: remember.ForUser})
			if _, err := s.Forget(t.Context(), forgotten.ID); err != nil {
				t.Fatal(err)
			}
			ids := s.List(nil)
			for _, c := range ids {
				if err := s.Confirm(t.Context(), c.ID); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // what is changed by permd itself is no damage
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, o)
				if st := s.Status(); st.AllowsOff || st.Lost != "" || len(st.Degraded) > 0 {
					t.Fatalf("undamaged: %+v", st)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, o.Path)
			if err := remember.Check(o.Path); err == nil {
				t.Error("the check finds nothing")
			}
			s = open(t, o)
			if st := s.Status(); !st.AllowsOff || st.Lost == "" || st.SetAside == "" {
				t.Errorf("status %+v", st)
			}
			for range 2 {
				for _, q := range []*decisions.MemoryQuery{
					ask(file(effects.KindWrite, "/p/rejected")), ask(file(effects.KindWrite, "/p/rejecteb")), ask(run("/opt/bin/mytool")),
					ask(run("/opt/bin/mytoom")), ask(run("/opt/bin/other")), ask(run("ls")),
				} {
					if reject, allow, _ := s.Match(q); reject == nil || allow != nil {
						t.Errorf("%+v: reject %v, allow %v", q.Effect, reject, allow)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, o)
			}
		})
	}
}
