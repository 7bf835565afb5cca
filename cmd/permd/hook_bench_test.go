package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// BenchmarkHook measures a whole hook process with a running daemon, to be compared
// with BenchmarkHook/true, a program that does nothing.
func BenchmarkHook(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "permd")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	run, err := os.MkdirTemp("", "p")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(run) })
	env := []string{"HOME=" + dir, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH")}
	serve := exec.Command(program, "serve")
	serve.Env = env
	if err := serve.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	project := filepath.Join(dir, "project")
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o700); err != nil {
		b.Fatal(err)
	}
	in := hookInput(hookShell[0].in, project, "git status")
	once := func(name string, args ...string) (string, time.Duration) {
		cmd := exec.Command(name, args...)
		cmd.Env, cmd.Stdin = env, strings.NewReader(in)
		start := time.Now()
		out, _ := cmd.Output()
		return string(out), time.Since(start)
	}
	eventually.Holds(b, "the daemon answers", func() bool {
		out, _ := once(program, "hook", "claude")
		return strings.Contains(out, `"allow"`)
	})
	for _, c := range []struct {
		name string
		args []string
	}{{"claude", []string{program, "hook", "claude"}}, {"true", []string{"true"}}} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				out, d := once(c.args[0], c.args[1:]...)
				if took = append(took, d); c.name != "true" && !strings.Contains(out, `"allow"`) {
					b.Fatalf("the answer is %q", out)
				}
			}
			b.ReportMetric(micros(took, 50), "p50-µs")
			b.ReportMetric(micros(took, 99), "p99-µs")
		})
	}
}

// micros is a percentile in microseconds.
func micros(took []time.Duration, percent int) float64 {
	slices.Sort(took)
	return float64(took[len(took)*percent/100].Nanoseconds()) / 1000
}

// hookInput is what a harness sends of a command.
func hookInput(in, cwd, command string) string {
	return strings.NewReplacer("CWD", cwd, "COMMAND", command).Replace(in)
}
