//go:build race

package testload

// Race is set in a program with the race detector, which takes several times the time
// and memory, and bounds the number of goroutines.
const Race = true
