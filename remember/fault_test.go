//go:build cgo && linux

package remember_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "github.com/mattn/go-sqlite3"
	"go.uber.org/goleak"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/remember"
)

// childMode makes the test binary a child whose disk is full.
const childMode = "PERMD_REMEMBER_TEST_CHILD"

func TestMain(m *testing.M) {
	if path, ok := os.LookupEnv(childMode); ok {
		forgetOnFullDisk(path)
		return
	}
	testload.CollectRarely()
	testload.Rapid()
	goleak.VerifyTestMain(m)
}

// forgetOnFullDisk saves, fills the disk and then revokes.
func forgetOnFullDisk(path string) {
	// Otherwise the kernel would end the process instead of failing the write.
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	check := func(ok bool, what string, args ...any) {
		if !ok {
			fmt.Printf("error: "+what+"\n", args...)
			os.Exit(1)
		}
	}
	s, err := remember.Open(options(path))
	check(err == nil, "opening: %v", err)
	draft := func(n int) remember.Draft {
		return remember.Draft{
			Verdict: decisions.Allow, Query: ask(run("make", fmt.Sprint(n))), Scope: remember.ForUser,
			DecisionID: strings.Repeat("x", 1000),
		}
	}
	matches := func(n int) bool {
		_, allow, err := s.Match(ask(run("make", fmt.Sprint(n))))
		check(err == nil, "matching: %v", err)
		return allow != nil
	}
	const last = 100
	var ids []string
	for n := range last + 1 {
		saved, err := s.Save(ctx, draft(n))
		check(err == nil, "saving: %v", err)
		ids = append(ids, saved[0].ID)
	}

	// The limit is less than the present size of database and log: neither can grow, and
	// the log cannot be checkpointed.
	var limit syscall.Rlimit
	check(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) == nil, "getrlimit")
	hard := limit.Max
	limit.Cur = 32 << 10
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) == nil, "setrlimit")
	_, err = s.Save(ctx, draft(last+1))
	check(sqlitedb.IsFull(err), "not known as a full disk: %v", err)
	check(!matches(last+1), "a choice that was not stored holds")
	n, err := s.Forget(ctx, ids[0], ids[1])
	check(n == 2 && err == nil, "forgetting: %d, %v", n, err)
	check(!matches(0) && !matches(1) && matches(last), "wrong choices hold")
	st := s.Status()
	check(st.Pending == 2 && len(st.Degraded) > 0, "status %+v", st)
	_ = s.Close() // cannot store use counts

	// Still full: the revocation must have survived.
	s, err = remember.Open(options(path))
	check(err == nil, "opening again: %v", err)
	check(!matches(0) && !matches(1) && matches(last), "a revoked choice is back")
	check(s.Status().Pending == 2, "status %+v", s.Status())

	limit.Cur = hard
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) == nil, "setrlimit")
	check(s.Flush(ctx) == nil, "flushing")
	st = s.Status()
	check(st.Pending == 0 && st.Degraded == nil, "status %+v", st)
	check(s.Close() == nil, "closing")
	check(os.Remove(path+".revoked") == nil, "removing the file of revocations")
	s, err = remember.Open(options(path))
	check(err == nil, "opening once more: %v", err)
	check(!matches(0) && !matches(1) && matches(last), "the database does not know the revocation")
	check(s.Close() == nil, "closing")
	fmt.Println("done")
}

func TestForgetOnFullDisk(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childMode+"="+path(t))
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "done\n" {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestMoreRevocationsThanTheFileNames(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	yes, no := ask(run("make")), ask(run("rm"))
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: yes, Scope: remember.ForUser})
	save(t, s, remember.Draft{Verdict: decisions.Deny, Query: no, Scope: remember.ForUser})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Path+".revoked", []byte("someid\n*"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = open(t, o)
		if said(t, s, yes) != "" || said(t, s, no) != "deny" {
			t.Fatalf("have %q and %q", said(t, s, yes), said(t, s, no))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedPages overwrites one page after the other: whatever is lost, no allow
// counts, the old file is kept, and rejects are kept if they can be read.
func TestDamagedPages(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it damages each page of a database")
	}
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	const choices = 120
	var drafts []remember.Draft
	for n := range choices {
		for verdict, program := range map[decisions.Verdict]string{decisions.Allow: "make", decisions.Deny: "rm"} {
			drafts = append(drafts, remember.Draft{
				Verdict: verdict, Query: ask(run(program, fmt.Sprint(n))), Scope: remember.ForProject, DecisionID: strings.Repeat("x", 100),
			})
		}
	}
	if _, err := s.Save(t.Context(), drafts...); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	most := 0
	for n := range len(whole) / page {
		t.Run(fmt.Sprintf("page %d", n+1), func(t *testing.T) {
			damaged := bytes.Clone(whole)
			for i := range page {
				damaged[n*page+i] = byte(i*31 + 7)
			}
			o := options(path(t))
			if err := os.WriteFile(o.Path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, o)
			st := s.Status()
			if !st.AllowsOff || len(st.Degraded) == 0 || st.SetAside == "" {
				t.Fatalf("have status %+v, want it degraded", st)
			}
			if kept, err := os.ReadFile(st.SetAside); err != nil || !bytes.Equal(kept, damaged) {
				t.Fatalf("set aside as %q (%v)", st.SetAside, err)
			}
			rejects := 0
			for n := range choices {
				if reject, allow, err := s.Match(ask(run("make", fmt.Sprint(n)))); allow != nil || reject == nil || !reject.Unsure || !errors.Is(err, remember.ErrOff) {
					t.Fatalf("have %v, %v, %v; want that allows are off and all asks", reject, allow, err)
				}
				if reject, _, _ := s.Match(ask(run("rm", fmt.Sprint(n)))); reject == nil {
					t.Fatalf("rm %d neither asks nor is rejected", n)
				} else if !reject.Unsure {
					rejects++
				}
			}
			if rejects != st.Salvaged {
				t.Errorf("%d rejects hold, %d were salvaged", rejects, st.Salvaged)
			}
			most = max(most, rejects)
			if _, err := s.Save(t.Context(), drafts[0], drafts[1]); !errors.Is(err, remember.ErrOff) {
				t.Errorf("saving an allow: have %v, want %v", err, remember.ErrOff)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, o)
			if st := again.Status(); st.Rejects != rejects+1 || st.Allows != 0 || len(st.Degraded) != 1 || st.Lost == "" || st.Changed != 1 {
				t.Errorf("after a restart: %+v, want %d rejects, and one for what was lost", st, rejects)
			}
			kept := 0
			for n := range choices {
				if reject, _, _ := again.Match(ask(run("rm", fmt.Sprint(n)))); reject == nil {
					t.Fatalf("rm %d neither asks nor is rejected after a restart", n)
				} else if !reject.Unsure {
					kept++
				}
			}
			if kept != rejects {
				t.Errorf("%d of %d salvaged rejects match after a restart", kept, rejects)
			}
		})
	}
	if most < choices*3/4 {
		t.Errorf("at most %d of %d rejects were salvaged", most, choices)
	}
}

func TestUnreadableRowTurnsAllowsOff(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"digest": "UPDATE choices SET digest = x'00' WHERE verdict = 'allow'",
		"pins":   `UPDATE choices SET pins = CAST('{"project":1}' AS BLOB) WHERE verdict = 'allow'`,
	} {
		t.Run(name, func(t *testing.T) {
			o := options(path(t))
			s := open(t, o)
			for program, verdict := range map[string]decisions.Verdict{"make": decisions.Allow, "rm": decisions.Deny} {
				save(t, s, remember.Draft{Verdict: verdict, Query: ask(run(program)), Scope: remember.ForUser})
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, o.Path, query+unsealed)
			s = open(t, o)
			if have := said(t, s, ask(run("make"))) + said(t, s, ask(run("rm"))); have != "deny" || !s.Status().AllowsOff {
				t.Errorf("have %q, status %+v", have, s.Status())
			}
		})
	}
}

func TestMissingKeyIsDamage(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	save(t, s, remember.Draft{Verdict: decisions.Deny, Query: ask(run("rm")), Scope: remember.ForUser})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, o.Path, "DELETE FROM meta")
	if st := open(t, o).Status(); st.SetAside == "" || !st.AllowsOff {
		t.Errorf("have %+v", st)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    error
	}{
		"newer version": {func(t *testing.T, path string) { execute(t, path, "PRAGMA user_version = 99") }, sqlitedb.ErrNewer},
		"foreign":       {func(t *testing.T, path string) { execute(t, path, "PRAGMA application_id = 5") }, sqlitedb.ErrForeign},
		"open folder": {func(t *testing.T, path string) {
			if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
		}, sqlitedb.ErrUnsafe},
		"revocations are a link": {func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path+".revoked"), os.Symlink("/dev/null", path+".revoked")); err != nil {
				t.Fatal(err)
			}
		}, syscall.ELOOP},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(path(t))
			s := open(t, o)
			save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("make")), Scope: remember.ForUser})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			tc.prepare(t, o.Path)
			before, err := os.ReadFile(o.Path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := remember.Open(o); !errors.Is(err, tc.want) {
				t.Errorf("have %v, want %v", err, tc.want)
			}
			after, err := os.ReadFile(o.Path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

// unsealed makes the rows those of a permd without seals.
const unsealed = "; UPDATE choices SET seal = NULL; DELETE FROM meta WHERE name = 'sealed'"

func execute(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
