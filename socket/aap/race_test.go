//go:build race

package aap

const raceEnabled = true
