// Package shards has maps that are published whole and changed in copies, of which a change
// copies little.
package shards

import "maps"

// Map is a map in parts.
type Map[K comparable, V any] [256]map[K]V

// Edit changes a map that is not published yet, but holds parts of published ones.
type Edit struct{ copied [256]bool }

// Own returns a part of x that is shared with no published map.
func Own[K comparable, V any](e *Edit, x *Map[K, V], i byte) map[K]V {
	if !e.copied[i] {
		e.copied[i] = true
		x[i] = maps.Clone(x[i])
	}
	if x[i] == nil {
		x[i] = map[K]V{}
	}
	return x[i]
}

// Of returns the part that a key belongs to (FNV-1a).
func Of(key []byte) byte {
	h := uint32(2166136261)
	for _, c := range key {
		h = (h ^ uint32(c)) * 16777619
	}
	return byte(h>>24) ^ byte(h>>16) ^ byte(h>>8) ^ byte(h)
}
