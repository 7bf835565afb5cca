package shell

// Bounds of shell text. The parser recurses for each level of nesting without
// a limit of its own, and 400 KB of "(" overflow its stack, so text is bounded
// before it is parsed.
const (
	maxShellText    = 32 << 10         // bytes
	maxAllText      = 4 * maxShellText // of one call, text within text each time
	maxShellNesting = 200              // brackets, substitutions and quotes inside each other
	maxShellInShell = 8                // bash -c inside bash -c
	MaxEffects      = 512              // of one call
	maxBraceWords   = 64               // that one word may expand to
	maxLoopWords    = 16               // that a loop is followed over
	maxLoopText     = 4 << 10          // bytes of such a loop
	maxLoops        = 32               // that are followed so
	maxAllBraces    = 1024             // that braces may expand to in one call
	maxStatements   = 2 << 10          // followed in one call, those of loops each time
)
