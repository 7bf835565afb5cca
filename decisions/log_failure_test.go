package decisions

import (
	"errors"
	"testing"
)

// TestOnLogFailure: what a rule allows and cannot be logged is denied where the
// settings say so, and asked otherwise. What can be logged is allowed.
func TestOnLogFailure(t *testing.T) {
	for _, tc := range []struct {
		setting Verdict
		failure error
		want    Verdict
		by      DecidedBy
	}{
		{"", nil, Allow, ByPolicy},
		{Deny, nil, Allow, ByPolicy},
		{"", errors.New("disk full"), Ask, ByFailure},
		{Ask, errors.New("disk full"), Ask, ByFailure},
		{Allow, errors.New("disk full"), Ask, ByFailure},
		{Deny, errors.New("disk full"), Deny, ByFailure},
	} {
		_, _, j, e := newFakes(t)
		with, err := e.With(func(c *Config) { c.OnLogFailure = tc.setting })
		if err != nil {
			t.Fatal(err)
		}
		j.err = tc.failure
		got := with.Decide(t.Context(), bash(t, "ls"))[0]
		if got.Verdict != tc.want || got.By != tc.by {
			t.Errorf("%q, %v: got %s by %s, want %s by %s", tc.setting, tc.failure, got.Verdict, got.By, tc.want, tc.by)
		}
	}
}
