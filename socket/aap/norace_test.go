//go:build !race

package aap

const raceEnabled = false
