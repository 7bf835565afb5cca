package reviewweb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// countLimit bounds how long a form waits for what its choices would have matched. It works
// without.
const countLimit = 8 * time.Second

// previews asks the daemon what choices would have matched, for one form at a time.
func (s *Server) previews(ctx context.Context, params ...admin.PreviewParams) (list []admin.Preview, err error) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	select {
	case s.counting <- struct{}{}:
		defer func() { <-s.counting }()
	case <-ctx.Done():
		return nil, errors.New("the daemon is still counting for another form")
	}
	for _, p := range params {
		var got admin.Previews
		if err := s.daemon.call(ctx, admin.MethodChoicesPreview, p, &got); err != nil {
			return nil, err
		}
		list = append(list, got.Previews...)
	}
	return list, nil
}

// notCounted says why it is not known what choices would have matched.
func notCounted(err error) string {
	why := strings.TrimPrefix(message(err), "invalid params: ")
	if errors.Is(err, client.ErrUnreachable) {
		why = "the daemon does not answer"
	}
	return "what it would have matched is not known: " + why
}

// widthCount is what a width would have matched.
type widthCount struct{ DecisionID, Width, Text string }

// countWidths writes what the widths of a question would have matched, a part of its page for
// each, in the scope that the form names.
func (s *Server) countWidths(w http.ResponseWriter, r *http.Request) {
	id, scope := r.PostForm.Get("known"), r.PostForm.Get("scope")
	list, err := s.previews(r.Context(),
		admin.PreviewParams{DecisionIDs: []string{id}, Scope: scope, Verdict: decisions.Allow},
		admin.PreviewParams{DecisionIDs: []string{id}, Scope: scope, Verdict: decisions.Deny})
	said := map[string]string{}
	for i := range list {
		said[list[i].Width] = choices.Count(&list[i])
	}
	if err == nil {
		err = errors.New("the question offers this no longer")
	}
	var counts []widthCount
	for _, width := range r.PostForm["counted"] {
		counts = append(counts, widthCount{id, width, cmp.Or(said[width], notCounted(err))})
	}
	s.render(w, http.StatusOK, "widthCounts", counts)
}

// countChange writes what the changed choice of a form would be and would have matched.
func (s *Server) countChange(w http.ResponseWriter, r *http.Request) {
	ids := r.PostForm["id"]
	var lines []string
	change, changes, err := possibleChange(ids, r.PostForm)
	if err == nil && len(ids) != 1 {
		err = errors.New("the form is not about one choice")
	}
	var list []admin.Preview
	if err == nil {
		list, err = s.previews(r.Context(), admin.PreviewParams{Change: &change})
	}
	switch {
	case err != nil:
		lines = []string{notCounted(err)}
	case changes:
		lines = previewLines(list)
	default:
		for i := range list {
			lines = append(lines, fmt.Sprintf("as it is, it %s", choices.Count(&list[i])))
		}
	}
	s.render(w, http.StatusOK, "changeCount", lines)
}

// previewLines are what permd remember change --dry-run prints.
func previewLines(list []admin.Preview) (lines []string) {
	for i := range list {
		var b strings.Builder
		choices.RenderPreview(&b, &list[i])
		for line := range strings.Lines(b.String()) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
