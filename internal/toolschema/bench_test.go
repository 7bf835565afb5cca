package toolschema

import (
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// BenchmarkCheck is what a schema of usual size adds to a decision, the first
// time and each time after it.
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
