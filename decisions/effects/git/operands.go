package git

import "slices"

// separated returns the operands without a -- that is one of them to the reader, the number of
// those before the -- that separates revisions from paths, -1 without one, and whether the
// first one is a pattern.
//
// What -- means differs: git grep passes over one that comes before it has a pattern, so that
// the pattern may follow, and another -- separates (cmd_grep in its builtin/grep.c); where no
// operand is a path, or the first one says which tree they are in, it only ends the options.
func (r *Run) separated() (operands []int, dashes int, pattern bool) {
	operands, dashes = r.operands(), r.Dashes
	switch r.Sub {
	case "cat-file", "archive", "merge-file", "unpack-file":
		return operands, -1, false
	case "grep":
		pattern = !r.has(patternOptions) && !r.mayLackPattern()
		if dashes == 0 && pattern {
			dashes = slices.IndexFunc(operands, func(i int) bool { return r.Args[i].Text == "--" })
			if dashes == 0 { // the pattern is --
				dashes = slices.IndexFunc(operands[1:], func(i int) bool { return r.Args[i].Text == "--" })
				if dashes >= 0 {
					dashes++
				}
			}
			if dashes > 0 {
				operands = slices.Delete(slices.Clone(operands), dashes, dashes+1)
			}
		}
	}
	return operands, dashes, pattern
}

// patternOptions are the options of git grep with which no operand is the pattern.
var patternOptions = []string{"-e", "--and", "--or", "--not"}

// mayLackPattern reports whether the first operand of git grep may be a pattern or a path: a
// file of patterns may hold none.
func (r *Run) mayLackPattern() bool {
	return r.Sub == "grep" && r.has([]string{"-f"}) && !r.has(patternOptions)
}
