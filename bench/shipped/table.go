package shipped

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/permd/permd/rego"
)

// Entry is the part of a program or sub-command in the program table that command
// lines are made from.
type Entry struct {
	Names         []string            `yaml:"names"`
	Style         string              `yaml:"style"`
	Include       []string            `yaml:"include"`
	IncludeBelow  []string            `yaml:"include_below"`
	Options       map[string][]string `yaml:"options"`
	Operands      []string            `yaml:"operands"`
	Sub           []Entry             `yaml:"sub"`
	Readonly      bool                `yaml:"readonly"`
	ReadonlyAlone []string            `yaml:"readonly_alone"`
}

// Table is the shipped program table, as its files have it.
type Table struct {
	Groups   map[string]map[string][]string // options, by role
	Programs []Entry                        // in the order of the files
}

// Roles returns the roles that options and operands of the program table may have, as
// its schema lists them.
func Roles() []string {
	var schema struct {
		Definitions struct {
			Role struct {
				Enum []string `json:"enum"`
			} `json:"role"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(rego.ProgramsSchema(), &schema); err != nil {
		panic(err) // the schema is embedded
	}
	return schema.Definitions.Role.Enum
}

// ReadTable reads the shipped program table.
func ReadTable() (*Table, error) {
	t := &Table{Groups: map[string]map[string][]string{}}
	files := rego.Programs()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var file struct {
			Groups   map[string]map[string][]string `yaml:"groups"`
			Programs []Entry                        `yaml:"programs"`
		}
		if err := yaml.Unmarshal(files[name], &file); err != nil {
			return nil, fmt.Errorf("reading program table %s: %w", name, err)
		}
		maps.Copy(t.Groups, file.Groups)
		t.Programs = append(t.Programs, file.Programs...)
	}
	return t, nil
}
