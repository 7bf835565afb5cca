package remember

import "maps"

// shards are a map in parts, so that a change copies little of it.
type shards[K comparable, V any] [256]map[K]V

// shardEdit changes shards that are not published yet, but hold maps of published ones.
type shardEdit struct{ copied [256]bool }

// own returns a shard of x that is shared with no published one.
func own[K comparable, V any](e *shardEdit, x *shards[K, V], i byte) map[K]V {
	if !e.copied[i] {
		e.copied[i] = true
		x[i] = maps.Clone(x[i])
	}
	if x[i] == nil {
		x[i] = map[K]V{}
	}
	return x[i]
}

// shardOf distributes the keys of lines and rejects over shards (FNV-1a).
func shardOf(key []byte) byte {
	h := uint32(2166136261)
	for _, c := range key {
		h = (h ^ uint32(c)) * 16777619
	}
	return byte(h>>24) ^ byte(h>>16) ^ byte(h>>8) ^ byte(h)
}
