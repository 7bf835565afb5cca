package runs

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/permd/permd/decisions/effects/programs"
)

// TestEveryKindHasARole checks that something was decided for words of each kind
// that a program file can name.
func TestEveryKindHasARole(t *testing.T) {
	data, err := os.ReadFile("../../../rego/programs.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Definitions struct{ Kind struct{ Enum []string } }
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.Definitions.Kind.Enum) < len(roles) {
		t.Errorf("%d kinds, %d roles", len(schema.Definitions.Kind.Enum), len(roles))
	}
	for _, kind := range schema.Definitions.Kind.Enum {
		table, err := programs.ParseTable(map[string][]byte{"t.yaml": []byte("programs: [{names: [x], operands: [" + kind + "]}]")})
		if err != nil {
			t.Fatal(err)
		}
		if act := table.Program("x").Operands[0].Act; int(act) >= len(roles) || roles[act].do == nil {
			t.Errorf("%s: words of this kind have no role", kind)
		}
	}
}
