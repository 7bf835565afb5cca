package pattern

import (
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// manyLetters are the letters whose full case folding is several (CaseFolding.txt of Unicode,
// status F).
const manyLetters = "ßŉǰΐΰևẖẗẘẙẚẞὐὒὔὖᾀᾁᾂᾃᾄᾅᾆᾇᾈᾉᾊᾋᾌᾍᾎᾏᾐᾑᾒᾓᾔᾕᾖᾗᾘᾙᾚᾛᾜᾝᾞᾟᾠᾡᾢᾣᾤᾥᾦᾧᾨᾩᾪᾫᾬᾭᾮᾯᾲᾳᾴᾶᾷᾼῂῃῄῆῇῌῒ\u1fd3ῖῗῢ\u1fe3ῤῦῧῲῳῴῶῷῼﬀﬁﬂﬃﬄﬅﬆﬓﬔﬕﬖﬗ"

// dottedI are the forms of an i with a dot above, which some systems fold to i alone.
const dottedI = "i\u0307"

// FoldPairs returns what FoldTool replaces before it folds letter by letter: each text and, after
// it, what takes its place. No text begins like another one.
var FoldPairs = sync.OnceValue(func() (pairs []string) {
	fold := cases.Fold()
	for _, r := range manyLetters {
		pairs = append(pairs, string(r), fold.String(string(r)))
	}
	return append(pairs, dottedI, "i", strings.ToUpper(dottedI), "i")
})

var foldMany = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(FoldPairs()...) })

// FoldTool returns a tool's, server's or version's name as denies, asks and rejects compare
// it: servers are known that find their tools without regard to case. It is the full case
// folding of Unicode, in which straße and STRASSE are one name, and a dotted or dotless i is an
// i as well. Allows compare names as they are.
func FoldTool(name string) string {
	upper := false
	for i := range len(name) {
		switch c := name[i]; {
		case c >= utf8.RuneSelf:
			// Upper case first: some letters have it in common with an ASCII one.
			return strings.ToLower(strings.ToUpper(foldMany().Replace(name)))
		case c >= 'A' && c <= 'Z':
			upper = true
		}
	}
	if upper {
		return strings.ToLower(name)
	}
	return name
}
