// Command permd decides whether an AI agent's tool call may run. It is the
// daemon, the client of the daemon, and the tools around its policies, in one
// program; each subcommand is a file of this folder.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

func main() {
	collectLater(os.Args[1:])
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
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
