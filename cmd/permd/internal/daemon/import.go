package daemon

import (
	"context"
	"fmt"
	"strings"

	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
)

// Import stores choices of a file, each as if the person had added it.
func (m choices) Import(ctx context.Context, uid uint32, list []admin.ImportedChoice, preview bool) (admin.Imported, error) {
	done := admin.Imported{Choices: []admin.Choice{}, Refused: []admin.RefusedChoice{}}
	refuse := func(i int, err error) {
		done.Refused = append(done.Refused, admin.RefusedChoice{Index: i, Why: strings.TrimPrefix(err.Error(), remember.ErrNotRemembered.Error()+": ")})
	}
	var lines []remember.Line
	var at []int
	for i := range list {
		l, err := m.lineOf(uid, &list[i].NewChoice)
		if err == nil && l.Scope == remember.ForProject && list[i].Of != "" && l.Project != list[i].Of {
			// A project that was removed may lie in another one.
			err = fmt.Errorf("%s is no project here", list[i].Of)
		}
		if err != nil {
			refuse(i, err)
			continue
		}
		lines, at = append(lines, l), append(at, i)
	}
	stored, refused, err := m.d.memory.Import(ctx, preview, lines...)
	if err != nil {
		m.d.log.Warn("choices not imported", "error", err)
		return admin.Imported{}, err
	}
	var added []string
	for i := range stored {
		if refused[i] != nil {
			refuse(at[i], refused[i])
			continue
		}
		done.Choices = append(done.Choices, m.wire(&stored[i]))
		if !stored[i].Earlier && !preview {
			added = append(added, stored[i].ID)
		}
	}
	done.Undo = m.d.changesOf(ctx, added)
	return done, nil
}
