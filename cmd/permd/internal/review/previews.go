package review

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"

	"github.com/permd/permd/cmd/permd/internal/choices"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// previewsMsg is what a form's choices would have matched.
type previewsMsg struct {
	of   *form
	key  string
	list []admin.Preview
	err  error
}

// paramsKey tells requests for previews apart.
func paramsKey(p *admin.PreviewParams) string {
	b, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// askPreviews asks what the form would have matched as its fields are now, unless that is known. One
// request is on its way at a time, however fast somebody types.
func (m *Model) askPreviews() tea.Cmd {
	f := m.form
	if f == nil || f.asks == nil || m.previewing || m.lost != "" {
		return nil
	}
	p := f.asks()
	key := paramsKey(&p)
	if _, known := f.previews[key]; known {
		return nil
	}
	m.previewing = true
	d := m.daemon
	return func() tea.Msg {
		var got admin.Previews
		err := d.Call(admin.MethodChoicesPreview, p, &got)
		return previewsMsg{f, key, got.Previews, err}
	}
}

// setPreviews takes over what a form would have matched.
func (m *Model) setPreviews(msg *previewsMsg) {
	m.previewing = false
	if msg.err == nil || errors.Is(msg.err, client.ErrUnreachable) {
		m.reached(msg.err)
	}
	if !errors.Is(msg.err, client.ErrUnreachable) { // else it is asked again when there is a daemon
		msg.of.previews[msg.key] = *msg
	}
}

// said returns what is known of what the form would have matched: the preview of a width, the only one
// where that is "", or why there is none.
func (f *form) said(width string) (p *admin.Preview, why string) {
	if f.asks == nil {
		return nil, ""
	}
	asked := f.asks()
	switch got, known := f.previews[paramsKey(&asked)]; {
	case !known:
		return nil, "counting what it would have matched …"
	case got.err != nil:
		return nil, "what it would have matched is not known: " + words(got.err)
	default:
		for i := range got.list {
			if got.list[i].Width == width {
				return &got.list[i], ""
			}
		}
		return nil, "what it would have matched is not known"
	}
}

// count says what a width of the form would have matched, as permd allow does.
func (f *form) count(width string) string {
	p, why := f.said(width)
	if p == nil {
		return why
	}
	return choices.Count(p)
}

// become says what the changed choice would be and would have matched, as permd remember change
// --dry-run does; same is the choice as it is.
func (f *form) become(same string, changes bool) string {
	p, why := f.said("")
	if p == nil {
		return same + "\n" + why
	}
	if !changes {
		return same + "\n" + f.count("")
	}
	var b strings.Builder
	choices.RenderPreview(&b, p)
	return strings.TrimSuffix(b.String(), "\n")
}
