// Command permd decides whether an AI agent's tool call may run. It is the
// daemon, the client of the daemon, and the tools around its policies, in one
// program; each subcommand is a file of this folder.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// The main goroutine gets the main thread while packages are initialised, and only then.
func init() { runtime.LockOSThread() }

func main() {
	freeMainThread(os.Args[1:])
	collectLater(os.Args[1:])
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// freeMainThread lets other goroutines run on the main thread, but not in the daemon. Linux
// hands a signal for a process to its main thread if that has none pending, even if the thread
// waits for a file system that does not answer; it then stays there, although other threads
// could take it. The daemon's main goroutine only waits, so its thread can always take SIGTERM.
func freeMainThread(args []string) {
	if !slices.Contains(args, "serve") {
		runtime.UnlockOSThread()
	}
}

// firstGCPercent is the garbage collector's target until it has run once, in percent of
// its least heap of 4 MB.
const firstGCPercent = 400

// collectLater puts off the first run of the garbage collector, unless GOGC says when.
// Most commands end before there is much to collect; the daemon and permd acp do not, and
// the daemon has a target of its own.
func collectLater(args []string) {
	if os.Getenv("GOGC") != "" || len(args) == 0 || args[0] == "serve" || args[0] == "acp" {
		return
	}
	usual := debug.SetGCPercent(firstGCPercent)
	// The object is gone with the first run.
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
