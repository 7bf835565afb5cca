package shell

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/testload"
)

// atTerminal runs a text of bash whose input and output are a terminal, and returns the files
// below the temporary folder that it opened to write.
func (o *tracedOracle) atTerminal(t *testing.T, text, cwd string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // it may read what nobody types
	defer cancel()
	c := exec.CommandContext(ctx, "script", "-qec", "strace -f -qq -y -e signal=none -e trace=open,openat,creat -o "+dir+"/trace bash "+dir+"/text", "/dev/null")
	c.Dir, c.Env = cwd, append(slices.Clone(o.env), "SHELL=/bin/sh")
	_, _ = c.CombinedOutput()
	data, err := os.ReadFile(filepath.Join(dir, "trace"))
	if err != nil {
		t.Skipf("script does not give a terminal here: %v", err)
	}
	var writes []string
	for line := range strings.Lines(string(data)) {
		if m := tracedOpen.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && lexpath.In(o.top, m[2]) && (strings.Contains(m[1], "O_WRONLY") || strings.Contains(m[1], "O_RDWR")) {
			writes = append(writes, m[2])
		}
	}
	return writes
}

// TestNohupOracle compares the files that nohup writes at a terminal with the effects, whatever
// wraps it and wherever its output goes.
func TestNohupOracle(t *testing.T) {
	o := newTracedOracle(t, "nohup", "script")
	redirections := []string{
		"", "", "", "", "", "", "", "", "", "", ">log", ">>log", ">|log", "&>log", ">&log", ">/dev/null", ">/dev/tty", ">&2", "2>&1", "2>/dev/null", ">&-", ">&- 2>log", ">log >&2", "3>&1 >log >&3", ">log 2>&1", "1<>log", "1<>/dev/tty",
		">/dev/stdout", ">/dev/stderr", ">tty", ">'log'", "> >(cat)", "1</dev/null", "</dev/null", "01>log", "1>&1 >log", ">log 1>&1", ">log 01>&2",
	}
	groups := []string{
		"%s", "%s", "%s", "%s", "%s", "( %s )", "{ %s; }", "sh -c '%s'", "bash -c '%s' x", "if true; then %s; fi", "%s & wait", "true && %s", "for i in 1 2; do %s; done", "x=$(%s)", "cat <(%s)", "%s | cat", "echo x | %s", "echo x > >(%s; cat)",
		"exec %s", "{ exec >/dev/tty; %s; }", "{ command exec >/dev/tty; %s; }", "while read x; do %s; done <in", "eval '%s'", "f() { %s; }; f", "echo `%s`", "script -qec '%s' /dev/null", "time %s", "! %s",
	}
	written, needless, compared := 0, 0, 0
	rounds := testload.Rounds(t, "PERMD_TEST_NOHUP", 20, 1500)
	for range rounds {
		if err := os.RemoveAll(o.project); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{".git/objects/x", ".git/refs/x", "sub/a.txt", "full/nohup.out/x", "in"} {
			o.write(t, file, "x\n")
		}
		o.write(t, ".git/HEAD", "ref: refs/heads/main\n")
		o.link(t, "/dev/tty", "tty")
		o.link(t, "../../profile", "linked/nohup.out")
		cwd := filepath.Join(o.project, o.pick("", "", "sub", "full", "linked"))
		text := o.pick("", "timeout 5 ", "env A=b ", "nice ", "stdbuf -oL ", "command ", "nohup ", "echo a | xargs ", "setsid -w ", "env nice -n 1 timeout 5 ", "time ") + "nohup " + o.pick("echo hi", "ls", "cat in", "-- echo hi") + " " + o.pick(redirections...)
		for range 1 + o.rnd.IntN(2) {
			group := o.pick(groups...)
			if strings.Contains(group, "'") && strings.Contains(text, "'") {
				continue
			}
			text = strings.ReplaceAll(group, "%s", text) + " " + o.pick(redirections...)
		}
		b := onDisk(effectstest.Table(t), o.top, cwd, text)
		// What not every shell reads alike is read as bash does.
		known := !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
			return (e.Kind == effects.KindUnknown || e.Kind == effects.KindState) && !strings.HasPrefix(e.Text, "not every shell")
		})
		isRead := func(e effects.Effect) bool { return e.Kind != effects.KindWrite }
		writes := slices.DeleteFunc(slices.Clone(b.Effects), isRead)
		seen := append(slices.Clone(writes), slices.DeleteFunc(slices.Clone(b.Opened), isRead)...)
		outputs := 0
		for _, file := range o.atTerminal(t, text, cwd) {
			if base := filepath.Base(file); base != "nohup.out" && base != "profile" {
				continue
			}
			outputs++
			if known {
				compared++
			}
			if !covers(writes, effects.KindWrite, file) && (filepath.Dir(file) != o.top || !covers(seen, effects.KindWrite, file)) && known {
				t.Errorf("seed %d: %s in %s writes %s, which no effect has", o.seed, text, cwd, file)
				for i := range b.Effects {
					t.Log(b.Effects[i].Text)
				}
			}
		}
		if written += min(outputs, 1); outputs == 0 && known && slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
			return e.Kind == effects.KindWrite && e.File != nil && filepath.Base(e.File.Path) == "nohup.out"
		}) {
			needless++
		}
		_ = os.Remove(filepath.Join(o.top, "nohup.out"))
	}
	t.Logf("%d of %d wrote, %d might have for permd", written, rounds, needless)
	if compared < rounds/20 {
		t.Errorf("seed %d: of %d writes effects were compared", o.seed, compared)
	}
}
