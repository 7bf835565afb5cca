package main

import "golang.org/x/sys/unix"

// The queues of a socket: what was sent and what has come, and was not read.
const (
	siocoutq = unix.SIOCOUTQ
	siocinq  = unix.SIOCINQ
)
