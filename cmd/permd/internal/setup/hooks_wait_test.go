package setup

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/cmd/permd/internal/hookproc"
)

// configuredTimeout matches the time limits in the settings of all harnesses, in seconds or milliseconds.
var configuredTimeout = regexp.MustCompile(`"?timeout(?:Sec)?"?\s*[:=]\s*([0-9]+)`)

// TestHooksWait: of a hook that waits, the harness's own time limit is longer than the wait, whatever the
// file was, and permd reads it from there.
func TestHooksWait(t *testing.T) {
	for _, harness := range hookHarnesses() {
		files := awkward[harness]
		if len(files) == 0 {
			files = []struct{ name, text string }{{"no file", ""}}
		}
		for _, file := range files {
			for _, wait := range []time.Duration{20 * time.Second, 5 * time.Minute, time.Hour, 1500 * time.Millisecond} {
				if checkWait(harness, wait) != nil {
					continue // Cline
				}
				place := hookPlaces("/root-of-none", harness, "/home/ana", hookOptions{wait: wait})[0]
				var before []byte
				if file.name != "no file" {
					before = []byte(file.text)
				}
				text, err := place.edit.install(before, testProgram)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(text), " hook "+harness+waitOption(wait)) {
					t.Errorf("%s, %s: it does not wait: %s", harness, file.name, text)
				}
				if is, err := place.edit.check(text); err != nil || len(is.programs) != 1 || len(is.problems) > 0 || len(is.silent) > 0 && harness != "cline" {
					t.Errorf("%s, %s, %s: %+v, %v", harness, file.name, wait, is, err)
				}
				limits, err := place.edit.(waitingEditor).limits(text)
				if err != nil || len(limits) == 0 {
					t.Errorf("%s, %s: no limits: %v", harness, file.name, err)
				}
				for _, limit := range limits {
					if time.Duration(limit)*time.Second < wait+hookproc.Margin {
						t.Errorf("%s, %s: it waits for %s, and the limit is %d", harness, file.name, wait, limit)
					}
				}
				// An independent reading of the same.
				unit := 1
				if harness == "gemini" {
					unit = 1000
				}
				for line := range strings.Lines(string(text)) {
					if m := configuredTimeout.FindStringSubmatch(line); m != nil {
						if n, _ := strconv.Atoi(m[1]); n != limitOf(wait)*unit && n != hookLimit*unit {
							t.Errorf("%s, %s: a limit is %s", harness, file.name, m[1])
						}
					}
				}
				rest, found, err := place.edit.remove(text)
				if err != nil || !found || strings.Contains(string(rest), waitFlag) {
					t.Errorf("%s, %s: removed, it is %s, %v, %v", harness, file.name, rest, found, err)
				}
			}
		}
	}
}

// TestHookWaitsWithoutLimit: where the time limit of a hook that waits was lowered or taken out, permd
// knows that, and permd doctor says so.
func TestHookWaitsWithoutLimit(t *testing.T) {
	for _, harness := range hookHarnesses() {
		place, _ := placeOf(t, harness, false)
		wait := 20 * time.Second
		edit := hookPlaces("", harness, "/home/ana", hookOptions{wait: wait})[0].edit
		text, err := edit.install(nil, testProgram)
		if err != nil {
			t.Fatal(err)
		}
		home := strings.TrimSuffix(place.path, place.path[strings.Index(place.path, "/home/")+len("/home"):])
		t.Setenv("HOME", home)
		limit := func(text []byte) (time.Duration, error) {
			writeConfig(t, place.path, string(text))
			return HookLimit("/root-of-none", harness)
		}
		if got, err := limit(text); err != nil || got != wait+hookproc.Margin {
			t.Errorf("%s: the limit is %s, %v", harness, got, err)
		}
		for name, change := range map[string]func(string) string{
			"lower": func(s string) string { return strings.NewReplacer("30000", "12000", "30", "12").Replace(s) },
			"gone": func(s string) string {
				return regexp.MustCompile(`,?\s*"?timeout(Sec)?"?\s*[:=]\s*30(000)?`).ReplaceAllString(s, "")
			},
			"a text": func(s string) string { return strings.NewReplacer("30000", `"x"`, "30", `"x"`).Replace(s) },
		} {
			changed := []byte(change(string(text)))
			if bytes.Equal(changed, text) {
				if harness != "cline" {
					t.Errorf("%s, %s: nothing was changed in %s", harness, name, text)
				}
				continue
			}
			got, err := limit(changed)
			if err == nil && (name != "lower" || got != 12*time.Second) {
				t.Errorf("%s, %s: the limit is %s", harness, name, got)
			}
			if is, err := place.edit.check(changed); err == nil && len(is.problems) == 0 && len(is.programs) > 0 {
				t.Errorf("%s, %s: permd doctor is content: %s", harness, name, changed)
			}
		}
		// Without a wait there is nothing to be known.
		plain, err := place.edit.install(nil, testProgram)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := limit(plain); err == nil {
			t.Errorf("%s: without a wait, the limit is %s", harness, got)
		}
		if err := os.Remove(place.path); err != nil {
			t.Fatal(err)
		}
		if got, err := HookLimit("/root-of-none", harness); err == nil {
			t.Errorf("%s: without a file, the limit is %s", harness, got)
		}
	}
}

func TestCheckWait(t *testing.T) {
	for _, tt := range []struct {
		harness string
		wait    time.Duration
		ok      bool
	}{
		{"claude", 0, true},
		{"claude", time.Second, true},
		{"claude", time.Hour, true},
		{"claude", time.Hour + time.Second, false},
		{"claude", time.Millisecond, false},
		{"claude", -time.Minute, false},
		{"cline", 20 * time.Second, true},
		{"cline", 21 * time.Second, false},
	} {
		if err := checkWait(tt.harness, tt.wait); (err == nil) != tt.ok {
			t.Errorf("%s, %s: %v", tt.harness, tt.wait, err)
		}
	}
}
