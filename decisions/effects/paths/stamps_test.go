package paths

import (
	"io/fs"
	"testing"
	"time"
)

// coarseFS has the stamps of a file system that keeps whole seconds, or of one whose
// folders may change without their stamps.
type coarseFS struct {
	walkedFS
	stamp   time.Time
	changes bool // stamps change with the names
}

func (f *coarseFS) KeepsStamps(string) bool { return f.changes }

func (f *coarseFS) Stamp(string) (Stamp, error) { return Stamp{1, 2, f.stamp.UnixNano()}, nil }

// TestUntrustedStamps tests that names are read again where a change may leave the folder's
// stamp as it is: in the same second, and in file systems that do not keep stamps.
func TestUntrustedStamps(t *testing.T) {
	second := time.Unix(1e9, 0)
	for name, tt := range map[string]struct {
		now     time.Time
		changes bool
		kept    bool
	}{
		"in the same second": {second.Add(900 * time.Millisecond), true, false},
		"seconds later":      {second.Add(4 * time.Second), true, true},
		"not kept":           {second.Add(time.Hour), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &coarseFS{*newWalkedFS(), second, tt.changes}
			f.add("/p", fs.ModeDir)
			x := NewIndex(f, func() time.Time { return tt.now })
			for range 2 {
				if _, _, err := x.Listing("/p", 10); err != nil {
					t.Fatal(err)
				}
			}
			if kept := len(x.listings.young) == 1; kept != tt.kept {
				t.Errorf("kept is %v, want %v", kept, tt.kept)
			}
			if _, ok := x.OldStamp("/p"); ok != tt.kept {
				t.Errorf("OldStamp says %v, want %v", ok, tt.kept)
			}
			f.add("/p/commondir", 0)
			if l, _, err := x.Listing("/p", 10); !tt.kept && (err != nil || l.Lacks("commondir")) {
				t.Errorf("a name that was added is missing: %v", err)
			}
		})
	}
}
