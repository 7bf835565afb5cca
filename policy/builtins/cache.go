package builtins

import (
	"regexp"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown/cache"
)

// maxCached bounds the compiled patterns that a cache keeps, in bytes. Those of a policy
// are written in it, and take some hundred kilobytes at most; but a rule can put together
// many others.
const maxCached = 16 << 20

// patternCache is OPA's cache of compiled patterns, bounded by what they take and not only
// by their number.
type patternCache struct {
	cache.InterQueryValueCache
	bytes atomic.Int64 // of all that were inserted
}

// NewCache returns a cache that keeps patterns up to a number of bytes. Patterns beyond that
// are compiled each time.
func NewCache(c cache.InterQueryValueCache) cache.InterQueryValueCache {
	return &patternCache{InterQueryValueCache: c}
}

// Insert keeps a compiled pattern.
func (p *patternCache) Insert(key ast.Value, value any) int {
	bytes := int64(64 * length(key))
	if re, ok := value.(*regexp.Regexp); ok {
		size, _ := patternOf(re.String())
		bytes += int64(bytesPerInstr * size.instructions)
	}
	if p.bytes.Add(bytes) > maxCached {
		p.bytes.Add(-bytes)
		return 0
	}
	return p.InterQueryValueCache.Insert(key, value)
}
