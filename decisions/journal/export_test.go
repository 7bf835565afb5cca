//go:build cgo

package journal

// Consistent is consistent.
var Consistent = consistent
