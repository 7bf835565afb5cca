// Package lazy has regular expressions that are compiled when they are first used. A
// process that asks the daemon uses few of those that permd has, and none should pay for
// them all when it starts.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the compiled expression. It is safe for
// concurrent use, and panics if the expression is not valid.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
