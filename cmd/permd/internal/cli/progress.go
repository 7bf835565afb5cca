package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress shows at a terminal how far something is that takes long.
type Progress struct {
	w     io.Writer
	what  string
	wide  int // columns, 0 if nothing is shown
	began time.Time
	shown time.Time
}

// The bar appears after progressAfter, and is drawn anew every progressEvery.
const (
	progressAfter = 300 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// NewProgress returns a bar on w, if that is a terminal; what is the text in front of it.
func NewProgress(w io.Writer, what string) *Progress {
	return &Progress{w: w, what: what, wide: columns(w), began: time.Now()}
}

// Set shows that so much of all is done.
func (p *Progress) Set(done, total int64) {
	now := time.Now()
	if p.wide == 0 || now.Sub(p.began) < progressAfter || now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown = now
	fmt.Fprint(p.w, "\r"+p.bar(done, total))
}

func (p *Progress) bar(done, total int64) string {
	part := 1.0
	if total > 0 {
		part = min(1, max(0, float64(done)/float64(total)))
	}
	wide := min(40, p.wide-Cells(p.what)-9)
	if wide < 4 {
		return fmt.Sprintf("%3.0f %%", 100*part)
	}
	full := int(part * float64(wide))
	return fmt.Sprintf("%s [%s%s] %3.0f %%", p.what, strings.Repeat("#", full), strings.Repeat(" ", wide-full), 100*part)
}

// Close removes the bar.
func (p *Progress) Close() {
	if !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r"+strings.Repeat(" ", max(0, p.wide-1))+"\r")
	}
}
