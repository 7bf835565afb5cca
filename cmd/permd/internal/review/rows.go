package review

import (
	"slices"
	"strings"
)

// rows is a list with a cursor, which stays on its row whatever is added or removed around it.
type rows[T any] struct {
	all   []T
	key   func(*T) string
	match func(*T) bool // nil selects all
	shown []int         // the indices of those that are selected
	at    string        // the key of the row with the cursor
	place int           // where that was among the shown rows
	top   int           // the first row on the screen
}

// set replaces the rows.
func (r *rows[T]) set(all []T) {
	r.all = all
	r.choose()
}

// choose selects rows anew. If that of the cursor is gone, the cursor goes to what has taken its
// place, the last row if nothing has.
func (r *rows[T]) choose() {
	r.shown = r.shown[:0]
	for i := range r.all {
		if r.match == nil || r.match(&r.all[i]) {
			r.shown = append(r.shown, i)
		}
	}
	if at := r.position(); at >= 0 {
		r.place = at
	} else {
		r.moveTo(r.place)
	}
}

// position returns the cursor's place among the shown rows, -1 if it is on none of them.
func (r *rows[T]) position() int {
	if r.place < len(r.shown) && r.key(&r.all[r.shown[r.place]]) == r.at {
		return r.place
	}
	return slices.IndexFunc(r.shown, func(i int) bool { return r.key(&r.all[i]) == r.at })
}

// moveTo moves the cursor to a place, or to the nearest one.
func (r *rows[T]) moveTo(place int) {
	r.at, r.place = "", 0
	if n := len(r.shown); n > 0 {
		r.place = min(max(place, 0), n-1)
		r.at = r.key(&r.all[r.shown[r.place]])
	}
}

func (r *rows[T]) move(by int) { r.moveTo(max(r.position(), 0) + by) }

// row returns the row with the cursor, nil if there is none.
func (r *rows[T]) row() *T {
	if i := r.position(); i >= 0 {
		return &r.all[r.shown[i]]
	}
	return nil
}

func (r *rows[T]) length() int { return len(r.shown) }

// window returns the first row that fits the height, and the one after the last. That with the
// cursor is among them.
func (r *rows[T]) window(height int) (from, to int) {
	at := max(r.position(), 0)
	r.top = max(min(r.top, at), at-height+1, 0)
	r.top = max(min(r.top, len(r.shown)-height), 0)
	return r.top, min(r.top+height, len(r.shown))
}

// matching returns a function that selects what has all the words, nil for none.
func matching[T any](words []string, text func(*T) string) func(*T) bool {
	if len(words) == 0 {
		return nil
	}
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	return func(row *T) bool {
		t := strings.ToLower(text(row))
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(t, w) })
	}
}
