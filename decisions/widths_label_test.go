package decisions

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
)

// TestLabelsAreWhole: what a width leaves open is said one by one or counted, never cut.
func TestLabelsAreWhole(t *testing.T) {
	var items []OfferItem
	for i := range 9 {
		file := fmt.Sprintf("/p/a-folder-with-a-name/file-%d", i)
		items = append(items, OfferItem{Query: &MemoryQuery{Project: "/p", Effect: &effects.Effect{Kind: effects.KindWrite, File: &effects.File{Path: file}}}})
		if i < 2 {
			if label := exactLabel(items, nil); strings.Count(label, "any content of") != i+1 || !strings.HasSuffix(label, fmt.Sprintf("file-%d)", i)) {
				t.Errorf("%d files: %q", i+1, label)
			}
		}
	}
	items = append(items, OfferItem{Query: &MemoryQuery{Effect: &effects.Effect{Kind: effects.KindConnect, Connect: &effects.Connect{Host: "evil.example", Method: effects.MethodSend}}}})
	const want = "exactly this (any content of the 9 files, anything sent to the host that it names)"
	if label := exactLabel(items, nil); label != want || utf8.RuneCountInString(label) > maxLabel {
		t.Errorf("%q, want %q", label, want)
	}
}
