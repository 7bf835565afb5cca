package otc

import (
	"fmt"
	"strings"
	"testing"
)

// TestSameAuthorization: a repeated authorization adds its scopes only once, so
// that a short message does not become a long list.
func TestSameAuthorization(t *testing.T) {
	many := func(s string) string { return strings.Repeat(s+",", maxCredentials-1) + s }
	var scopes []string
	for i := range maxCredentials {
		scopes = append(scopes, fmt.Sprintf("%q", fmt.Sprint("s", i)))
	}
	d := newDaemon(t)
	d.call(t, `{"tool_id":"A.B","input":{},"context":{"authorization":[`+strings.Repeat(`{"id":"x"},`, maxCredentials-1)+`{"id":"y"}]},
		"tool":{"id":"A.B","requirements":{"authorization":[`+many(`{"id":"x","oauth2":{"scopes":[`+strings.Join(scopes, ",")+`]}}`)+`]}}}`)
	given := d.got[0].Call.Credentials.Authorizations
	if len(given) != 2 || given[0].ID != "x" || given[1].ID != "y" || len(given[0].Scopes) != maxCredentials*maxCredentials || given[1].Scopes != nil {
		t.Errorf("%d authorizations, the first with %d scopes", len(given), len(given[0].Scopes))
	}
}
