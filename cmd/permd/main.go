// Command permd decides whether an AI agent's tool call may run. It is the
// daemon, the client of the daemon, and the tools around its policies, in one
// program; each subcommand is a file of this folder.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
