package toolschema

import (
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// BenchmarkCheck measures a schema of usual size, for the first call and for later ones.
func BenchmarkCheck(b *testing.B) {
	schema, arguments := strictjson.Value(purge), strictjson.Value(`{"bin":"C-17","force":true,"mode":"hard","list":[1,2]}`)
	for name, check := range map[string]func(_, _ strictjson.Value) ([]Problem, error){"first": Check, "kept": new(Cache).Check} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if problems, err := check(schema, arguments); problems != nil || err != nil {
					b.Fatal(problems, err)
				}
			}
		})
	}
}
