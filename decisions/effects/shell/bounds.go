package shell

// Bounds of shell text. The parser recurses for each level of nesting without
// a limit of its own, and 400 KB of "(" overflow its stack, so text is bounded
// before it is parsed.
const (
	maxShellText    = 32 << 10         // bytes
	maxAllText      = 4 * maxShellText // of one call, nested text counted at each level
	maxShellNesting = 200              // nested brackets, substitutions and quotes
	maxShellInShell = 8                // nested bash -c
	MaxEffects      = 512              // of one call
	maxBraceWords   = 64               // expansions of one word
	maxLoopWords    = 16               // iterations of a loop that are walked one by one
	maxLoopText     = 4 << 10          // bytes of such a loop
	maxLoops        = 32               // such loops
	maxAllBraces    = 1024             // brace expansions in one call
	maxStatements   = 2 << 10          // walked in one call, those of loops at each iteration
)
