package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/chars"
)

// Marks are printed in front of an effect, by its verdict.
var Marks = map[decisions.Verdict]string{decisions.Allow: "✓", decisions.Ask: "?", decisions.Deny: "✗"}

// Short abbreviates a digest.
func Short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	if digest == "" {
		return "none"
	}
	return digest
}

// PrintJSON prints one value on one line. Characters that a terminal does not show, or that
// turn the direction of text, are escaped, which keeps the value.
func PrintJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", chars.EscapeJSON(b))
	return err
}

// PrintJSONLines prints each value of a list on a line.
func PrintJSONLines[T any](w io.Writer, list []T) error {
	for i := range list {
		if err := PrintJSON(w, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// PrintIndented prints one value over several lines.
func PrintIndented(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", chars.EscapeJSON(b))
	return err
}

// Plural formats a count: "1 rule", "2 rules".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ay") {
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Clip shortens text to at most n characters.
func Clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Either returns yes if is is true, otherwise no.
func Either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
