package decisions

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
)

// TestHoldsLimits: a late approval is bound to the contents of all files that the
// call runs, reads or names. At the limit it counts. Above it permd cannot tell
// whether the files changed, so it does not count.
func TestHoldsLimits(t *testing.T) {
	const most = 10 // bytes
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, " f%d", i)
		}
		return b.String()
	}
	errDisk := errors.New("disk")
	for name, tt := range map[string]struct {
		command string
		files   map[string]string
		errs    map[string]error
		change  map[string]string // changes made before the approval comes
		want    bool
	}{
		"as long as the limit":                            {command: "tool a b", files: map[string]string{"a": "1234", "b": "123456"}, want: true},
		"one byte above it":                               {command: "tool a b", files: map[string]string{"a": "1234", "b": "1234567"}},
		"the first is all of it, the next is empty":       {command: "tool a b", files: map[string]string{"a": "1234567890", "b": ""}, want: true},
		"the first is all of it, the next is a byte":      {command: "tool a b", files: map[string]string{"a": "1234567890", "b": "1"}},
		"the first is too long, and the next is short":    {command: "tool a b", files: map[string]string{"a": "12345678901", "b": "1"}},
		"another content":                                 {command: "tool a", files: map[string]string{"a": "1"}, change: map[string]string{"a": "2"}},
		"a file that is made":                             {command: "tool a", change: map[string]string{"a": "2"}},
		"another content that is too long, as before":     {command: "sh < a", files: map[string]string{"a": "12345678901"}, change: map[string]string{"a": "22345678901"}},
		"code as long as the limit":                       {command: "sh a", files: map[string]string{"a": "1234567890"}, want: true},
		"code above it":                                   {command: "sh a", files: map[string]string{"a": "12345678901"}},
		"nobody can read what is named":                   {command: "tool a", errs: map[string]error{"a": fs.ErrPermission}, want: true},
		"nobody can read what is run":                     {command: "sh a", errs: map[string]error{"a": fs.ErrPermission}},
		"what is named cannot be read now":                {command: "tool a", errs: map[string]error{"a": errDisk}},
		"a folder":                                        {command: "tool a", errs: map[string]error{"a": ErrNoContent}, want: true},
		"as many files as can be compared":                {command: "tool" + names(maxContents), want: true},
		"one more":                                        {command: "tool" + names(maxContents+1)},
		"one more, and all but the last are as they were": {command: "tool" + names(maxContents+1), change: map[string]string{fmt.Sprintf("f%d", maxContents): "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, _, e := newFakes(t)
			p.fired = nil
			e.maxSummed = most
			req := bash(t, tt.command)
			files := tt.files
			e.digest = func(file string, limit int64) (string, int64, error) {
				name := path.Base(file)
				text, ok := files[name]
				switch {
				case tt.errs[name] != nil:
					return "", 0, tt.errs[name]
				case !ok:
					return "", 0, fs.ErrNotExist
				case int64(len(text)) > limit:
					return "", 0, errors.New("too long")
				}
				return "sum " + text, int64(len(text)), nil
			}
			d := e.Decide(t.Context(), req)[0]
			if d.Verdict != Ask || len(d.Contents) == 0 {
				t.Fatalf("%s, %v", d.Verdict, d.Contents)
			}
			if tt.change != nil {
				files = tt.change
			}
			if got := e.Holds(t.Context(), req, d); (got == nil) != tt.want {
				t.Errorf("Holds = %v, want %v: %.300v", got, tt.want, d.Contents)
			}
		})
	}
}
