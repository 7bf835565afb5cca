//go:build !race

package decisions

const raceEnabled = false
