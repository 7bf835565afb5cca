package publicsuffix

import _ "embed"

// The folder data has the list in the encoding of golang.org/x/net/publicsuffix, from which
// it is taken (go:generate); the BSD licence of that module applies to it. TestSameAsGo
// fails when the module has another list or another encoding.

// version is what the module calls the list.
const version = "publicsuffix.org's public_suffix_list.dat, git revision d6c92f1bbb7433e5db7b8405c25d4035fb8ff376 (2026-02-06T07:36:33Z)"

// Widths of the members of a node, in bits, from the lowest on: length and offset of the
// label in text, whether a registry manages the suffix, and the index of its children.
const (
	nodesBits           = 40 // of a whole node
	nodesBitsTextLength = 6
	nodesBitsTextOffset = 16
	nodesBitsICANN      = 1
	nodesBitsChildren   = 10
)

// The same of an entry of children, a range of nodes with what applies to their parent.
const (
	childrenBitsLo       = 14
	childrenBitsHi       = 14
	childrenBitsNodeType = 2
	childrenBitsWildcard = 1
)

// Types of nodes.
const (
	nodeTypeNormal    = 0 // a suffix
	nodeTypeException = 1 // no suffix, although a wildcard matches it
)

// numTLD is how many nodes, the first ones, are top-level domains.
const numTLD = 1450

var (
	//go:embed data/text
	text string // all labels
	//go:embed data/nodes
	nodes uint40String
	//go:embed data/children
	children uint32String
)
