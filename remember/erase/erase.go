// Package erase ends choices in the database. Their rows stay for the record, without what
// is or may be secret.
package erase

import (
	"database/sql"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/remember/seals"
)

// Erased stands for text that was erased.
const Erased = "…"

// Rows revokes the choices that where selects: at is the time in nanoseconds since 1970,
// and by the reason. Of a line with something that is masked, today or when it was stored,
// only the program is left, and of a folder or file with such a name nothing.
func Rows(db seals.DB, key []byte, at int64, by, where string, args ...any) error {
	rows, err := rowsOf(db, where, args...)
	if err != nil {
		return err
	}
	for _, r := range rows {
		_, _, err := seals.Update(db, key, "revoked = ?, revoked_by = ?, pattern = ?, pins = ?, scope_key = ?",
			[]any{at, by, line(r.kind, r.line), pins(r.pins), path(r.scope)}, "n = ?", r.n)
		if err != nil {
			return err
		}
	}
	return nil
}

// row is what is erased of one.
type row struct {
	n           int64
	kind        effects.Kind
	line, scope string
	pins        []byte
}

func rowsOf(db seals.DB, where string, args ...any) (list []row, err error) {
	rows, err := db.Query("SELECT n, kind, pattern, pins, scope_key FROM choices WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer func(rows *sql.Rows) { _ = rows.Close() }(rows) // Err has what counts
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.n, &r.kind, &r.line, &r.pins, &r.scope); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// line returns what stays of the line of a forgotten choice.
func line(kind effects.Kind, line string) string {
	if !strings.Contains(line, display.Masked) && display.Display(line) == line {
		return line
	}
	program, _, _ := strings.Cut(line, " ")
	if kind != effects.KindRun || strings.Contains(program, display.Masked) || display.Display(program) != program {
		return Erased
	}
	return program + " " + Erased
}

// pins returns what stays of the pins. What is no JSON holds a secret as little as before:
// it was never shown.
func pins(stored []byte) []byte {
	var members map[string]any
	if err := strictjson.Unmarshal(stored, &members); err != nil {
		return stored
	}
	changed := false
	for name, v := range members {
		if text, ok := v.(string); ok && path(text) != text {
			members[name], changed = Erased, true
		}
	}
	if !changed {
		return stored
	}
	left, err := json.Marshal(members, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return []byte("{}")
	}
	return left
}

// path returns what stays of the path of a project or folder, or of another pin.
func path(text string) string {
	if display.HoldsSecret(text) {
		return Erased
	}
	return text
}
