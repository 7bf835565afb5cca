package runs

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/permd/permd/decisions/effects/programs"
)

// TestEveryRoleIsHandled checks that every role that a program file can name has a
// handler.
func TestEveryRoleIsHandled(t *testing.T) {
	data, err := os.ReadFile("../../../rego/programs.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Definitions struct{ Role struct{ Enum []string } }
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.Definitions.Role.Enum) < len(roleHandlers) {
		t.Errorf("%d roles, %d handlers", len(schema.Definitions.Role.Enum), len(roleHandlers))
	}
	for _, name := range schema.Definitions.Role.Enum {
		table, err := programs.ParseTable(map[string][]byte{"t.yaml": []byte("programs: [{names: [x], operands: [" + name + "]}]")})
		if err != nil {
			t.Fatal(err)
		}
		if role := table.Program("x").Operands[0].Role; int(role) >= len(roleHandlers) || roleHandlers[role].do == nil {
			t.Errorf("%s: words of this role are not handled", name)
		}
	}
}
