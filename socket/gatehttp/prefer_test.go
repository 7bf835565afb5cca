package gatehttp

import (
	"net/http"
	"testing"
	"time"
)

func TestPreferredWait(t *testing.T) {
	for _, test := range []struct {
		values  []string
		seconds int // -1 for a refusal
	}{
		{nil, 0}, {[]string{""}, 0}, {[]string{"wait=0"}, 0}, {[]string{"wait=10"}, 10}, {[]string{"WAIT = 010"}, 10}, {[]string{"wait=60"}, 60}, {[]string{"wait=61"}, 60},
		{[]string{"wait=99999999999999999999"}, 60},
		{[]string{"respond-async, wait=10"}, 10}, {[]string{"respond-async", "wait=10"}, 10}, {[]string{"wait=5;x=7, wait=9"}, 5}, {[]string{"waits=5"}, 0},
		{[]string{`foo="a, wait=9"`}, 0}, {[]string{`foo="a\", wait=9"; bar, wait=3`}, 3}, {[]string{`foo="open, wait=3`}, 0},
		{[]string{"wait"}, -1}, {[]string{"wait="}, -1}, {[]string{"wait=-1"}, -1}, {[]string{"wait=1.5"}, -1}, {[]string{"wait=+1"}, -1}, {[]string{`wait="1"`}, -1}, {[]string{"wait=forever"}, -1},
		{[]string{"wait=٣"}, -1},
	} {
		got, ok := PreferredWait(http.Header{"Prefer": test.values}, time.Minute)
		if ok != (test.seconds >= 0) || ok && got != time.Duration(test.seconds)*time.Second {
			t.Errorf("%q: %v, %v", test.values, got, ok)
		}
	}
}
