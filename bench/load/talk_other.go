//go:build !linux

package main

// The queues of a socket are only asked for on Linux.
const (
	siocoutq = 0
	siocinq  = 0
)
