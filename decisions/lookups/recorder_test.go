package lookups

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// surveyFS returns the same answer to every survey.
type surveyFS struct {
	effects.FS
	survey paths.Survey
}

func (f surveyFS) Survey(string, string) paths.Survey { return f.survey }

// TestRecordedSurvey: all of a survey is recorded, to be compared with a later one.
func TestRecordedSurvey(t *testing.T) {
	for name, want := range map[string]paths.Survey{
		"nothing":          {},
		"doubt":            {Incomplete: true},
		"a secret":         {Secrets: []string{"/p/.env"}},
		"all of it":        {Secrets: []string{"/p/.env", "/p/a.key"}, Incomplete: true},
		"a repository":     {Nested: []string{"/p/sub", "/p/vendor"}},
		"both":             {Secrets: []string{"/p/.env"}, Nested: []string{"/p/sub"}},
		"an ignore file":   {Ignores: []string{"/p/.ignore"}},
		"all lists":        {Secrets: []string{"/p/.env"}, Nested: []string{"/p/sub"}, Ignores: []string{"/p/.ignore", "/p/a/.ignore"}},
		"an odd file name": {Secrets: []string{"/p/@/.env"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Recorder{fs: surveyFS{survey: want}}
			if diff := cmp.Diff(want, o.Survey("/p", "/p")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestRecordedNames: a folder's names are recorded as they were returned, and a
// name or type that changed since is noticed.
func TestRecordedNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a", "-x"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := &Recorder{fs: paths.OSFS{}}
	var got []string
	list, err := o.Names(dir, 10)
	for _, e := range list {
		got = append(got, e.Name())
	}
	if err != nil || !slices.Equal(got, []string{"-x", "a", "b"}) || list[1].Type() != 0 {
		t.Fatalf("got %q, %v", got, err)
	}
	if _, err := o.Names(filepath.Join(dir, "none"), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if o.uncomparable || !Unchanged(t.Context(), paths.OSFS{}, o.lookups, 0) {
		t.Error("what has not changed does not hold")
	}
	sub := filepath.Join(dir, "a")
	if err := errors.Join(os.Remove(sub), os.Mkdir(sub, 0o700)); err != nil || Unchanged(t.Context(), paths.OSFS{}, o.lookups, 0) {
		t.Errorf("another type is not seen (%v)", err)
	}
	if err := errors.Join(os.Remove(sub), os.WriteFile(sub, nil, 0o600)); err != nil || !Unchanged(t.Context(), paths.OSFS{}, o.lookups, 0) {
		t.Errorf("what is as it was does not hold (%v)", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "c"), nil, 0o600); err != nil || Unchanged(t.Context(), paths.OSFS{}, o.lookups, 0) {
		t.Errorf("a further name is not seen (%v)", err)
	}
	if _, err := o.Names(dir, 1); err == nil || !o.uncomparable {
		t.Errorf("more names than the limit: %v, blurred %v", err, o.uncomparable)
	}
}
