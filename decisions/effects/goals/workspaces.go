package goals

import "github.com/permd/permd/internal/strictjson"

// Workspaces returns the patterns of the workspaces of a package.json. Its text need not be
// understood: then there are none.
func Workspaces(data []byte) (patterns []string) {
	if strictjson.Check(data) != nil {
		return nil
	}
	list := strictjson.Find(data, "workspaces")
	items, err := strictjson.ParseArray(list)
	if err != nil {
		items, _ = strictjson.ParseArray(strictjson.Find(list, "packages"))
	}
	for _, item := range items {
		if text, ok := strictjson.ParseString(item); ok {
			patterns = append(patterns, text)
		}
	}
	return patterns
}
