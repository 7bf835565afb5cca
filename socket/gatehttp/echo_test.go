package gatehttp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestEchoes(t *testing.T) {
	const secret = "Key/With+Signs-4711"
	percent := ""
	for _, c := range []byte(secret) {
		percent += fmt.Sprintf("%%%02x", c)
	}
	forms := []string{
		secret, strings.ToUpper(secret), hex.EncodeToString([]byte(secret)), url.QueryEscape(secret), percent,
		base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte("a" + secret + "b")),
		base64.StdEncoding.EncodeToString([]byte("ab" + secret)),
	}
	places := []func(string) any{
		func(s string) any { return s },
		func(s string) any { return map[string]any{"x": []any{1, "before " + s + " after"}} },
		func(s string) any { return []any{map[string]any{s: nil}} },
		func(s string) any { return "100% of " + s + " and 5%" },
	}
	for _, form := range forms {
		for i, place := range places {
			v, err := json.Marshal(place(form))
			if err != nil {
				t.Fatal(err)
			}
			if !Echoes(v, []string{"", secret}) {
				t.Errorf("%q at place %d is not recognised", form, i)
			}
			if Echoes(v, []string{"another secret"}) || Echoes(v, []string{""}) || Echoes(v, nil) {
				t.Errorf("%q at place %d is taken for another secret", form, i)
			}
		}
	}
	if !Echoes([]byte(`[471147114711]`), []string{"471147114711"}) {
		t.Error("a number is not recognised")
	}
}
