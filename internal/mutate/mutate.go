// Package mutate changes protocol messages in one place at a time, in all the ways in
// which a message may be malformed or hostile. It is for tests only.
package mutate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Mutant is a changed document with a description of the change.
type Mutant struct {
	What string
	Doc  any
}

// Of returns copies of a decoded document, each changed in one place. Each string is
// also replaced by each of the hostile ones.
func Of(doc any, hostile []string) (list []Mutant) {
	var at func(path string, v any, set func(any))
	at = func(path string, v any, set func(any)) {
		try := func(what string, with any) {
			set(with)
			list = append(list, Mutant{path + ": " + what, DeepCopy(doc)})
			set(v)
		}
		for _, with := range []any{nil, true, 7, "x", []any{}, map[string]any{}} {
			if !reflect.DeepEqual(v, with) {
				try(fmt.Sprintf("becomes %#v", with), with)
			}
		}
		switch x := v.(type) {
		case string:
			for _, text := range hostile {
				if text != x {
					try(fmt.Sprintf("becomes %.40q", text), text)
				}
			}
		case []any:
			for i, item := range x {
				try(fmt.Sprintf("loses %d", i), slices.Delete(slices.Clone(x), i, i+1))
				try(fmt.Sprintf("has %d twice", i), slices.Insert(slices.Clone(x), i, item))
				try(fmt.Sprintf("has %d again at the end", i), append(slices.Clone(x), item))
				try(fmt.Sprintf("has %d first", i), append([]any{item}, slices.Delete(slices.Clone(x), i, i+1)...))
			}
			for i := range x {
				at(fmt.Sprintf("%s[%d]", path, i), x[i], func(with any) { x[i] = with })
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(x)) {
				value := x[name]
				less := maps.Clone(x)
				delete(less, name)
				try("loses "+name, less)
				for _, other := range []string{strings.ToUpper(name), name + "\u200b", "_" + name} {
					renamed := maps.Clone(less)
					renamed[other] = value
					try(fmt.Sprintf("has %q for %s", other, name), renamed)
					also := maps.Clone(x)
					also[other] = value
					try(fmt.Sprintf("has %q beside %s", other, name), also)
				}
				at(path+"."+name, value, func(with any) { x[name] = with })
			}
		}
	}
	root := doc
	at("params", root, func(with any) { doc = with })
	return list
}

// DeepCopy returns a deep copy of a decoded document.
func DeepCopy(v any) any {
	switch x := v.(type) {
	case []any:
		c := make([]any, len(x))
		for i := range x {
			c[i] = DeepCopy(x[i])
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(x))
		for name, value := range x {
			c[name] = DeepCopy(value)
		}
		return c
	}
	return v
}
