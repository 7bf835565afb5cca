package tools

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// yamlKeys returns the keys that are read into a type.
func yamlKeys(of reflect.Type) (keys []string) {
	for f := range of.Fields() {
		name, inline, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if inline == "inline" {
			keys = append(keys, yamlKeys(f.Type)...)
			continue
		}
		keys = append(keys, name)
	}
	return keys
}

// TestProfilesSchemaHasEveryKey compares the schema of the files with the keys that are
// read.
func TestProfilesSchemaHasEveryKey(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../rego/profiles.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type properties struct{ Properties map[string]json.RawMessage }
	var schema struct {
		properties
		Definitions struct{ Shape, Agent properties }
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	same := func(what string, properties map[string]json.RawMessage, read []string) {
		t.Helper()
		slices.Sort(read)
		if diff := cmp.Diff(read, slices.Sorted(maps.Keys(properties))); diff != "" {
			t.Errorf("%s of rego/profiles.schema.json are not what is read: %s", what, diff)
		}
	}
	same("keys", schema.Properties, yamlKeys(reflect.TypeFor[profilesData]()))
	same("keys of a shape", schema.Definitions.Shape.Properties, yamlKeys(reflect.TypeFor[shapeData]()))
	same("keys of an agent", schema.Definitions.Agent.Properties, yamlKeys(reflect.TypeFor[layerAgentData]()))
	var needs struct{ Items struct{ Enum []string } }
	if err := json.Unmarshal(schema.Definitions.Shape.Properties["needs"], &needs); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, r := range new(shapeData).roles() {
		roles = append(roles, r.name)
	}
	slices.Sort(roles)
	if diff := cmp.Diff(roles, needs.Items.Enum); diff != "" {
		t.Errorf("needs of rego/profiles.schema.json are not the roles: %s", diff)
	}
}
