package decisions

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
)

// surveyFS has one answer to every survey.
type surveyFS struct {
	effects.FS
	survey effects.Survey
}

func (f surveyFS) Survey(string, string) effects.Survey { return f.survey }

// TestObservedSurvey: what is kept of a survey, to be compared with a later one,
// is all of it.
func TestObservedSurvey(t *testing.T) {
	for name, want := range map[string]effects.Survey{
		"nothing":          {},
		"doubt":            {Doubtful: true},
		"a secret":         {Secrets: []string{"/p/.env"}},
		"a link":           {Links: []string{"/p/x"}},
		"links and doubt":  {Links: []string{"/p/x", "/p/y"}, Doubtful: true},
		"all of it":        {Secrets: []string{"/p/.env", "/p/a.key"}, Links: []string{"/p/@x"}, Doubtful: true},
		"an odd file name": {Secrets: []string{"/p/@/.env"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observed{fs: surveyFS{survey: want}}
			if diff := cmp.Diff(want, o.Survey("/p", "/p")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
