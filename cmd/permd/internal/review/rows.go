package review

import "slices"

// rows is a list with a cursor, which stays on its row whatever is added or removed around it.
type rows[T any] struct {
	all   []T
	key   func(*T) string
	match func(*T) bool // nil selects all
	shown []int         // the indices of those that are selected
	at    string        // the key of the row with the cursor
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
	before := r.position()
	r.shown = r.shown[:0]
	for i := range r.all {
		if r.match == nil || r.match(&r.all[i]) {
			r.shown = append(r.shown, i)
		}
	}
	if r.position() < 0 {
		r.moveTo(before)
	}
}

// position returns the cursor's place among the shown rows, -1 if it is on none of them.
func (r *rows[T]) position() int {
	return slices.IndexFunc(r.shown, func(i int) bool { return i < len(r.all) && r.key(&r.all[i]) == r.at })
}

// moveTo moves the cursor to a place, or to the nearest one.
func (r *rows[T]) moveTo(place int) {
	r.at = ""
	if n := len(r.shown); n > 0 {
		r.at = r.key(&r.all[r.shown[min(max(place, 0), n-1)]])
	}
}

func (r *rows[T]) move(by int) {
	if r.position() >= 0 {
		by += r.position()
	}
	r.moveTo(by)
}

// row returns the row with the cursor, nil if there is none.
func (r *rows[T]) row() *T {
	if i := r.position(); i >= 0 {
		return &r.all[r.shown[i]]
	}
	return nil
}

func (r *rows[T]) length() int { return len(r.shown) }

// window returns the first and the last but one of the rows that fit the height, with the cursor
// among them.
func (r *rows[T]) window(height int) (from, to int) {
	at := max(r.position(), 0)
	r.top = min(r.top, at)
	r.top = max(r.top, at-height+1, 0)
	r.top = max(min(r.top, len(r.shown)-height), 0)
	return r.top, min(r.top+height, len(r.shown))
}
