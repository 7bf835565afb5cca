// Package shards has maps that are published whole and changed in copies, of which a change
// copies little.
package shards

import (
	"hash/maphash"
	"maps"
)

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

// seed is of this process alone, so that no client can choose keys of one part.
var seed = maphash.MakeSeed()

// Of returns the part that a key belongs to. It is another one in each process.
func Of(key []byte) byte { return byte(maphash.Bytes(seed, key)) }
