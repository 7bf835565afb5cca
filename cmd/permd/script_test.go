package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/client"
)

func TestMain(m *testing.M) {
	if os.Getenv(asPermd) != "" { // a process that a test has started, see daemon_test.go
		main()
	}
	testscript.Main(spaceChecked{m}, map[string]func(){"permd": main})
}

// parallelTests is how many parallel tests run at a time. They wait for processes, disks
// and limits of time, so they do not need a processor each.
const parallelTests = 4

// spaceChecked runs the tests only where there is space for them.
type spaceChecked struct{ tests *testing.M }

// Run returns the exit status.
func (m spaceChecked) Run() int {
	if err := enoughSpace(os.TempDir()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	testload.Parallel(parallelTests)
	freeMainThread([]string{"serve"}) // as in the daemon: TestMainThread
	return m.tests.Run()
}

// enoughSpace returns an error if the daemons that tests start would warn that the
// disk is almost full: much of what they print is compared.
func enoughSpace(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil // the tests will say what is wrong with it
	}
	const need = 1 << 30
	if free := int64(st.Bavail) * int64(st.Bsize); free < need { //nolint:unconvert // the types differ between systems
		return fmt.Errorf("%s has %d MiB free, and the tests need %d", dir, free>>20, need>>20)
	}
	return nil
}

// TestScripts runs each testdata/script/*.txtar: one behaviour of the command
// line each, with the real program, a real daemon where it needs one, and a
// home of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testload.Time(t, longestTest)
	const dir = "testdata/script"
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	files = testload.WithRace(t, files)
	if testing.Short() {
		// One with a daemon and calls, and one without any. Commands that read rules in their
		// own process are run without a command line by TestRunWithoutCommandLine.
		files = []string{filepath.Join(dir, "serve.txtar"), filepath.Join(dir, "version.txtar")}
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			// Socket paths are short: 107 bytes are all that the kernel takes.
			run, err := os.MkdirTemp("", "p")
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(run) })
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o700); err != nil {
				return err
			}
			env.Setenv("HOME", home)
			env.Setenv("XDG_RUNTIME_DIR", run)
			for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "PERMD_SOCKET", "NOTIFY_SOCKET"} {
				env.Setenv(name, "")
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready":       waitReady,
			"exitcode":    exitCode,
			"showlast":    showLast,
			"explainlast": explainLast,
			"newer":       makeNewer,
			"foreign":     makeForeign,
			"aside":       checkAside,
		},
	})
}

// waitReady waits until the daemon of the script answers.
func waitReady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: ready")
	}
	path := filepath.Join(ts.Getenv("XDG_RUNTIME_DIR"), "permd", "permd.sock")
	// The last socket that it opens is not this one, and it answers when all are open.
	if !eventually.True(func() bool {
		c, err := client.Dial(context.Background(), path, client.Options{})
		if err != nil {
			return false
		}
		defer c.Close()
		return c.Call(context.Background(), "permd/close", map[string]string{"sessionId": "none"}, nil) == nil
	}) {
		ts.Fatalf("the daemon did not come up at %s", path)
	}
}

// exitCode runs a command and checks its exit code: exitcode N COMMAND ARGS…
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// showLast runs permd log show on the newest decision.
func showLast(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("permd", "log", "list", "--json", "--limit", "1"))
	id := regexp.MustCompile(`"decisionId":"([^"]+)"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if id == nil {
		ts.Fatalf("no decision")
	}
	ts.Check(ts.Exec("permd", "log", "show", id[1]))
}

// explainLast runs permd explain on the newest decision: explainlast [OPTION]
func explainLast(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("permd", "log", "list", "--json", "--limit", "1"))
	id := regexp.MustCompile(`"decisionId":"([^"]+)"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if id == nil {
		ts.Fatalf("no decision")
	}
	ts.Check(ts.Exec("permd", append([]string{"explain", id[1]}, args...)...))
}

// makeNewer marks a database as written by a version that does not exist yet.
func makeNewer(ts *testscript.TestScript, neg bool, args []string) {
	change(ts, args[0], "PRAGMA user_version = 9999")
}

// makeForeign makes a database look like that of another program.
func makeForeign(ts *testscript.TestScript, neg bool, args []string) {
	change(ts, args[0], "PRAGMA application_id = 5")
}

// change changes a database that no process has open, and leaves only its main
// file.
func change(ts *testscript.TestScript, file, query string) {
	db, err := sql.Open("sqlite3", ts.MkAbs(file))
	ts.Check(err)
	_, err = db.Exec(query)
	ts.Check(errors.Join(err, db.Close()))
}

// checkAside checks that exactly one file next to a database, such as one that was set aside
// as damaged, has the content of another file: aside DATABASE FILE
func checkAside(ts *testscript.TestScript, neg bool, args []string) {
	want := ts.ReadFile(args[1])
	found, err := filepath.Glob(ts.MkAbs(args[0]) + ".*")
	ts.Check(err)
	same := 0
	for _, path := range found {
		if got := ts.ReadFile(path); got == want {
			same++
		}
	}
	if same != 1 {
		ts.Fatalf("%d of the files %v hold what %s does", same, found, args[1])
	}
}
