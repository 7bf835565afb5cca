package docs

import (
	"encoding/json"
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestErrorCodes compares the error codes of the decision socket, the constants of
// package socket, with the table of protocol.md and with the schema.
func TestErrorCodes(t *testing.T) {
	var declared []int
	for f := range module(t).below("socket/socket.go") {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
				return true
			}
			minus, ok := spec.Values[0].(*ast.UnaryExpr)
			if !ok {
				t.Fatalf("%s is no negative number", spec.Names[0].Name)
			}
			code, err := strconv.Atoi(minus.X.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, -code)
			return true
		})
	}
	slices.Sort(declared)
	if len(declared) < 5 {
		t.Fatalf("only %v are declared", declared)
	}

	page, err := os.ReadFile("protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Errors\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []int
	for _, row := range regexp.MustCompile("(?m)^\\| `(-[0-9]+)` \\|").FindAllStringSubmatch(section, -1) {
		code, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		documented = append(documented, code)
	}
	if slices.Sort(documented); !slices.Equal(declared, documented) {
		t.Errorf("socket declares %v, protocol.md has %v", declared, documented)
	}

	data, err := os.ReadFile("protocol.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Error struct {
				OneOf []struct {
					Properties struct {
						Code struct {
							Enum  []int
							Const int
						}
					}
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var valid []int
	for _, form := range schema.Defs.Error.OneOf {
		code := form.Properties.Code
		if valid = append(valid, code.Enum...); code.Const != 0 {
			valid = append(valid, code.Const)
		}
	}
	if slices.Sort(valid); !slices.Equal(declared, valid) {
		t.Errorf("socket declares %v, protocol.schema.json has %v", declared, valid)
	}
}
