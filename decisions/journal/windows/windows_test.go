package windows

import (
	"cmp"
	"slices"
	"testing"
)

// FuzzTexts: what a damaged database puts together is refused or read, and each text is a part of
// it.
func FuzzTexts(f *testing.F) {
	f.Add([]byte("1 2 0 3 -4 1"), []byte("1 3 abc2 0 3 1 x"))
	f.Add([]byte("9223372036854775808 1 1"), []byte("1 -1 x"))
	f.Add([]byte("1 1 9"), []byte("1 99 x"))
	f.Fuzz(func(t *testing.T, numbers, texts []byte) {
		list, err := parseItems(numbers)
		if err == nil && !slices.IsSortedFunc(list, func(a, b Item) int { return cmp.Compare(a.Seq, b.Seq) }) {
			t.Errorf("%v is in no order", list)
		}
		size := 0
		_ = eachText(texts, func(_ int64, text []byte) { size += len(text) })
		if size > len(texts) {
			t.Errorf("%d bytes of %d", size, len(texts))
		}
	})
}
