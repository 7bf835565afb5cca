package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The start pages are followed step by step: each command of their console blocks
// runs, in one project, and prints what the page shows. A line … matches any lines,
// and … in a line anything.

func TestStartAgentUser(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it does what a page says")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	call := fmt.Sprintf(`{"session_id":"s","cwd":%q,"permission_mode":"auto","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"make test"},"tool_use_id":"t1"}`, project)
	writeFile(t, filepath.Join(project, "call.json"), call)
	writeFile(t, filepath.Join(project, "Makefile"), "test:\n\tgo test ./...\n")
	d.followPage(t, "start-agent-user.md", project)
	list, err := d.shell(project, "permd log list --json")
	if err != nil {
		t.Fatal(list)
	}
	if n := strings.Count(list, `"verdict":"allow"`); n == 0 {
		t.Errorf("the call is not allowed at the end:\n%s", list)
	}
}

func TestStartAdmin(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it does what a page says")
	}
	t.Parallel()
	d := newTestDaemon(t)
	project := d.project(t, nil)
	var rules string
	for _, b := range fence.FindAllStringSubmatch(readPage(t, "../../docs/start-admin.md"), -1) {
		if b[1] == "yaml" {
			rules += b[2]
		}
	}
	writeFile(t, filepath.Join(project, "drafts", "rules.yaml"), rules)
	writeFile(t, filepath.Join(project, "calls.jsonl"), `{"tool":{"name":"Bash"},"input":{"command":"git push --force origin main"}}`+"\n")
	d.followPage(t, "start-admin.md", project)
	if out, err := d.shell(project, "permd hook uninstall claude --managed --yes"); err != nil {
		t.Errorf("what the page installed cannot be taken back: %v\n%s", err, out)
	}
}

// followPage runs the commands of a page of docs in a folder. Paths in /etc are
// below a folder of the test, and sudo does nothing.
func (d *testDaemon) followPage(t *testing.T, page, dir string) {
	t.Helper()
	root := filepath.Join(d.home, "root")
	d.typePermd(t)
	bin := filepath.Join(d.home, "bin")
	if err := os.Rename(filepath.Join(bin, "permd"), filepath.Join(bin, "permd-itself")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		// permd hook install refuses a permd in a temporary folder, such as that of a
		// test.
		"permd": "#!/bin/sh\ncase \"$1 $2\" in 'hook install') set -- \"$@\" --exec '" + bin + "/permd' ;; esac\n" +
			"exec permd-itself \"$@\" --root '" + root + "'\n",
		"sudo": "#!/bin/sh\nexec \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range d.stubs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ran, started := 0, false
	start := func() {
		if d.beforeStart != nil {
			d.beforeStart()
		}
		d.start(t, "--root", root)
		started = true
		if d.afterStart != nil {
			d.afterStart()
		}
	}
	for _, b := range fence.FindAllStringSubmatch(readPage(t, "../../docs/"+page), -1) {
		if b[1] != "console" {
			continue
		}
		for _, c := range transcript(b[2]) {
			ran++
			if c.command == "permd serve &" {
				start()
				continue
			}
			if c.command == "permd status" && !started { // the units would have started it
				start()
			}
			got, _ := d.shell(dir, strings.ReplaceAll(c.command, " /etc/", " "+root+"/etc/"))
			got = strings.ReplaceAll(got, root+"/etc", "/etc")
			if !matchesPage(c.output, got) {
				t.Errorf("%s: $ %s\n%swant\n%s", page, c.command, got, c.output)
			}
		}
	}
	if ran < 4 {
		t.Errorf("%s: only %d commands", page, ran)
	}
}

// matchesPage compares the output of a command with what a page shows of it.
func matchesPage(want, got string) bool {
	if want == "" { // of no interest to the reader
		return true
	}
	pattern := "^"
	for line := range strings.Lines(want) {
		if line == "…\n" {
			pattern += "(?:.*\n)*?"
			continue
		}
		pattern += strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), "…", ".*") + "\n"
	}
	return regexp.MustCompile(pattern + "$").MatchString(got)
}
