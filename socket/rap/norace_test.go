//go:build !race

package rap

const raceEnabled = false
