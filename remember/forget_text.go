package remember

import (
	"database/sql"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
)

// forgetText takes what is or may be secret out of the lines of choices that are revoked, which
// stay for the record: of a line with something that is masked, today or when it was stored, only
// the program is left. where selects the choices before they are revoked.
func forgetText(tx interface {
	Query(query string, args ...any) (*sql.Rows, error)
	Exec(query string, args ...any) (sql.Result, error)
}, where string, args ...any) error {
	rows, err := tx.Query("SELECT n, kind, pattern FROM choices WHERE "+where, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	less := map[int64]string{}
	for rows.Next() {
		var n int64
		var kind effects.Kind
		var line string
		if err := rows.Scan(&n, &kind, &line); err != nil {
			return err
		}
		if left := withoutSecrets(kind, line); left != line {
			less[n] = left
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	for n, line := range less {
		if _, err := tx.Exec("UPDATE choices SET pattern = ? WHERE n = ?", line, n); err != nil {
			return err
		}
	}
	return nil
}

// withoutSecrets returns what stays of the line of a forgotten choice.
func withoutSecrets(kind effects.Kind, line string) string {
	if !strings.Contains(line, display.Masked) && display.Display(line) == line {
		return line
	}
	program, _, _ := strings.Cut(line, " ")
	if kind != effects.KindRun || strings.Contains(program, display.Masked) || display.Display(program) != program {
		return "…"
	}
	return program + " …"
}
