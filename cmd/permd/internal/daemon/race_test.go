//go:build race

package daemon

// raceEnabled is set in a program with the race detector, which takes several times the
// memory and bounds the number of goroutines.
const raceEnabled = true
