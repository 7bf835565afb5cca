package toolschema

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// TestCache: a cached schema gives the same results, also concurrently; the
// cache is bounded.
func TestCache(t *testing.T) {
	var c Cache
	var work sync.WaitGroup
	for n := range 8 {
		work.Go(func() {
			for i := range 20 {
				schema := strictjson.Value(fmt.Sprintf(`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"type":"string","maxLength":%d,"format":"uri"},"b":{"$ref":"#"}}}`, i%5))
				for arguments, want := range map[string]string{
					`{"b":{"b":{"a":"xxxxxxxxx"}}}`: fmt.Sprintf("/b/b/a: must have at most %d characters", i%5), `{"b":{"b":{"a":""}}}`: "",
				} {
					problems, err := c.Check(schema, strictjson.Value(arguments))
					if got := Sentence(problems); err != nil || got != want {
						t.Errorf("%d, %d: %q, %v", n, i, got, err)
					}
				}
			}
		})
	}
	work.Wait()
	if len(c.schemas) != 5 {
		t.Errorf("%d are kept", len(c.schemas))
	}
	for i := range 2 * maxSchemas {
		if _, err := c.Check(strictjson.Value(fmt.Sprintf(`{"maxItems":%d}`, i)), strictjson.Value(`[]`)); err != nil {
			t.Fatal(err)
		}
		if len(c.schemas) > maxSchemas {
			t.Fatalf("%d are kept", len(c.schemas))
		}
	}
	for i := range 12 {
		large := fmt.Sprintf(`{"title":"%d","allOf":[%s{}]}`, i, strings.Repeat("{},", 1500))
		if _, err := c.Check(strictjson.Value(large), strictjson.Value(`[]`)); err != nil {
			t.Fatal(err)
		}
		if c.size > maxCacheBytes {
			t.Fatalf("%d bytes are kept", c.size)
		}
	}
	for range 2 {
		if _, err := c.Check(strictjson.Value(`{"$ref":"#/$defs/none"}`), strictjson.Value(`[]`)); err == nil {
			t.Error("what is no schema was checked")
		}
	}
}
