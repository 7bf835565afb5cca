package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/eventually"
)

// TestFailuresMounts is [TestFailures] for file systems that do not answer.
func TestFailuresMounts(t *testing.T) {
	failures(t, []failure{
		{"file system does not answer", mountSilent},
		{"file system does not answer, and a rule covers what is unknown", mountCovered},
		{"project's rules are swapped for a link to such a file system", mountSwapped},
	})
}

// startWithMount starts the daemon in a mount namespace of its own, in which the folder
// is a FUSE file system that never answers, since its requests are not read. It ends
// with the daemon, which has the only descriptor.
func (d *testDaemon) startWithMount(t *testing.T, folder string) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no file system in user space here: %v", err)
	}
	f.Close()
	d.startMounted(t, `exec 9<>/dev/fuse && mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 none "$1"`, folder)
}

// mountSilent: calls that touch a path below such a mount ask, and others do not,
// however many requests there are; permd reports it, and stops when it is asked to.
func mountSilent(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"a": "text"})
	silent := filepath.Join(d.home, "silent")
	if err := os.MkdirAll(silent, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(silent, filepath.Join(project, "link")); err != nil {
		t.Fatal(err)
	}
	// The rule that would let all of these pass.
	writeFile(t, filepath.Join(d.home, ".config/permd/policy.d/a.rego"),
		"package permd.user\nimport rego.v2\nallow contains \"reading\" if input.effect.kind in {\"run\", \"read\"}\n")
	d.listensHTTP(t, "unix")
	manager := newManager(t, d)
	d.startWithMount(t, silent)
	const why = "the file system does not answer"
	wantAnswers := func() {
		t.Helper()
		w := d.session(t, project)
		wantAllowed(t, w)
		begun := time.Now()
		if got := w.ask(t, decideLine("cat a")); got.Verdict != "allow" || time.Since(begun) > bearable {
			t.Errorf("a local file: %+v after %v", got, time.Since(begun))
		}
	}
	wantAnswers()

	var all sync.WaitGroup
	for i := range 80 {
		w := d.session(t, project)
		command := "cat " + silent + "/a"
		if i%2 == 1 {
			command = "cat link/sub/a"
		}
		all.Go(func() {
			begun := time.Now()
			got := w.ask(t, decideLine(command))
			if got.Verdict != "ask" || !strings.Contains(got.Reason, why) {
				t.Errorf("%s: %+v", command, got)
			}
			if took := time.Since(begun); took > bearable {
				t.Errorf("%s took %v", command, took)
			}
		})
	}
	all.Wait()
	wantAnswers()

	s := d.status(t)
	if !s.Degraded || len(s.Unanswered) != 1 || s.Unanswered[0].Mount != silent || s.Unanswered[0].Looks != 2 || time.Since(s.Unanswered[0].Since) > time.Minute {
		t.Errorf("status: %+v", s.Unanswered)
	}
	if out, err := d.command("status").Output(); err != nil || !strings.Contains(string(out), "2 looks stuck for ") || !strings.Contains(string(out), "below "+silent) {
		t.Errorf("status: %v\n%s", err, out)
	}

	for told := ""; !strings.Contains(told, "stuck since ") || !strings.Contains(told, "below "+silent); {
		told = manager.next(t, "STATUS")["STATUS"]
	}
	page := d.http(t).send(t, "GET", "/metrics", "").Body
	if !strings.Contains(page, `permd_files_unanswered{mount="`+silent+`"} 2`) || !strings.Contains(page, `permd_files_unanswered_since_timestamp_seconds{mount=`) {
		t.Errorf("metrics:\n%s", page)
	}

	// A project whose rules are there, and a project that is there itself.
	for name, dir := range map[string]string{"rules": filepath.Join(d.home, "other"), "project": filepath.Join(silent, "project")} {
		if name == "rules" {
			if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(silent, filepath.Join(dir, ".permd")); err != nil {
				t.Fatal(err)
			}
		}
		w := d.wire(t)
		begun := time.Now()
		_ = w.ask(t, declaration("s1", dir))
		if got := w.ask(t, decideLine("cat a")); got.Verdict != "ask" {
			t.Errorf("%s: %+v", name, got)
		}
		if took := time.Since(begun); took > bearable {
			t.Errorf("%s: took %v", name, took)
		}
	}
	// A deny that is written now takes effect, even if the settings lie there too.
	settings := filepath.Join(d.home, ".config", "permd", "permd.toml")
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(silent, "permd.toml"), settings); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(d.home, ".config/permd/policy.d/b.rego"),
		"package permd.user\nimport rego.v2\ndeny contains \"no more\" if input.effect.program == \"cat\"\n")
	w := d.session(t, project)
	eventually.Holds(t, "the new deny", func() bool { return w.ask(t, decideLine("cat a")).Verdict == "deny" })
	eventually.Holds(t, "the former settings stay", func() bool { return strings.Contains(d.status(t).Policy.Settings, why) })

	d.wantStopped(t)
}

// mountCovered: a rule that allows everything, what cannot be understood and all guarded tags
// too, does not cover what nobody could look at.
func mountCovered(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{"a": "text", "src/b": "text"})
	silent := filepath.Join(d.home, "silent")
	if err := os.MkdirAll(silent, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(silent, filepath.Join(project, "link")); err != nil {
		t.Fatal(err)
	}
	d.policy(t, "all.rego", `allow contains {"reason": "all", "covers": ["unknown", "secret", "startup", "agent_config", "vcs", "ci"]} if input.effect.kind`)
	d.startWithMount(t, silent)
	w := d.session(t, project)
	// The rule does cover what is unknown for another reason.
	for _, command := range []string{"frob --x", "cat a", "cp a src/c", "python3 -c 'print(1)'"} {
		if got := w.ask(t, decideLine(command)); got.Verdict != "allow" {
			t.Errorf("%s: %+v", command, got)
		}
	}
	for _, command := range []string{
		"cat link/a", "cat " + silent + "/a", "cat link/*", "ls link", "cp a link/b", "cp link/a b", "rm link/a", "rm -r link/", "echo x > link/a", "cat < link/a", "cd link && ls", "cd link && frob", "link/run",
		"grep -r x link/", "find link/ -name a", "git -C link status", "tar -cf a.tar link/sub", "frob link/a", "python3 link/a.py", "make -C link", "frob --file=link/a", "source link/a", "ln -s link/a b", "mv a link/", "PATH=link frob; cat link/a",
	} {
		w := d.session(t, project) // a folder that a shell is in for good is not known later
		if got := w.ask(t, decideLine(command)); got.allowed() {
			t.Errorf("%s: %+v", command, got)
		}
	}
	for tool, input := range map[string]any{
		"Read": map[string]any{"file_path": filepath.Join(project, "link/a")}, "Write": map[string]any{"file_path": filepath.Join(silent, "a"), "content": "x"},
		"Grep": map[string]any{"pattern": "x", "path": filepath.Join(project, "link")}, "Glob": map[string]any{"pattern": "**/*", "path": silent},
	} {
		if got := w.ask(t, toolLine(tool, input)); got.allowed() {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	d.wantStopped(t)
}

// mountSwapped: a project's .permd that is swapped for a link to such a mount, and back, at
// every moment of reading and watching it, costs only that project. A deny that is written
// then takes effect.
func mountSwapped(t *testing.T) {
	d := newTestDaemon(t)
	project := d.project(t, map[string]string{".permd/rules.yaml": "deny:\n  run: [\"frob\"]\n", "a": "text"})
	silent, link, permd := filepath.Join(d.home, "silent"), filepath.Join(project, "link"), filepath.Join(project, ".permd")
	if err := os.MkdirAll(silent, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(silent, link); err != nil {
		t.Fatal(err)
	}
	// The rule that would let all of it pass.
	d.policy(t, "a.rego", "allow contains \"reading\" if input.effect.kind in {\"run\", \"read\"}")
	d.startWithMount(t, silent)
	w := d.session(t, project)
	if got := w.ask(t, decideLine("frob")); got.Verdict != "deny" {
		t.Fatalf("control: %+v", got)
	}
	for n := range 2000 {
		if err := unix.Renameat2(unix.AT_FDCWD, permd, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
			t.Skipf("files cannot be exchanged here: %v", err)
		}
		if n%100 == 0 {
			begun := time.Now()
			if got := w.ask(t, decideLine("frob")); got.Verdict == "allow" || time.Since(begun) > bearable {
				t.Fatalf("swap %d: %+v after %v", n, got, time.Since(begun))
			}
			if n%500 == 0 {
				_ = d.command("reload").Run() // the link is refused
			}
		}
	}
	d.policy(t, "b.rego", "deny contains \"no more\" if input.effect.program == \"cat\"")
	other := d.session(t, projectOf(t))
	eventually.Holds(t, "the new deny", func() bool { return other.ask(t, decideLine("cat a")).Verdict == "deny" })
	begun := time.Now()
	if err := d.stop(t); err != nil || time.Since(begun) > bearable {
		t.Errorf("ended with %v after %v:\n%s", err, time.Since(begun), d.output.String())
	}
}
