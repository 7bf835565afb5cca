package programs

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/permd/permd/rego"
)

// Shipped returns the program table that permd ships. It is read once in a process, from
// the files of rego/programs as rego/programs.txt has them: reading YAML takes four times as
// long, a quarter of what a command takes. TestShippedIsWritten compares the two. The table
// has no lines of files, which only errors name.
var Shipped = sync.OnceValues(readShipped)

func readShipped() (*Table, error) {
	files, err := decodeCompact(rego.CompactPrograms())
	if err != nil {
		return nil, fmt.Errorf("reading the shipped program table: %w", err)
	}
	return newTable(slices.Sorted(maps.Keys(files)), func(name string) (*tableFile, error) { return files[name], nil })
}

// decodeCompact reads program files (name -> file) in the compact form, which is a line for
// each value:
//
//   - a struct is its keys that are set, each with the value after it, and an empty line;
//   - a list or map is the number of its values, and these; in a map, each after its key;
//   - a text or number is itself. What is true is only named.
//
// The strings of the files are parts of text.
func decodeCompact(text string) (map[string]*tableFile, error) {
	files := map[string]*tableFile{}
	d := &compactDecoder{rest: text, keys: map[reflect.Type]map[string][]int{}}
	if err := d.value(reflect.ValueOf(&files).Elem()); err != nil {
		return nil, err
	}
	if d.rest != "" {
		return nil, errors.New("text after the last file")
	}
	return files, nil
}

type compactDecoder struct {
	rest string
	keys map[reflect.Type]map[string][]int // indices of fields, by the keys of files
}

func (d *compactDecoder) line() (string, error) {
	line, rest, ok := strings.Cut(d.rest, "\n")
	if !ok {
		return "", errors.New("the text ends too early")
	}
	d.rest = rest
	return line, nil
}

// length reads the number of a list's or map's values, of which each has a line or more.
func (d *compactDecoder) length() (int, error) {
	line, err := d.line()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 0 || n > len(d.rest) {
		return 0, fmt.Errorf("%q is no number of values", line)
	}
	return n, nil
}

// value reads a value into v, which is zero.
func (d *compactDecoder) value(v reflect.Value) error {
	if word, ok := v.Addr().Interface().(*textNode); ok {
		line, err := d.line()
		word.text = line
		return err
	}
	switch v.Kind() { //nolint:exhaustive // the kinds of the fields of tableFile
	case reflect.Struct:
		return d.fields(v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(v.Elem())
	case reflect.Slice:
		n, err := d.length()
		if err != nil {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), 0, min(n, 64)))
		for i := range n {
			if i == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(i + 1)
			if err := d.value(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		n, err := d.length()
		if err != nil {
			return err
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range n {
			key, err := d.line()
			if err != nil {
				return err
			}
			elem := reflect.New(v.Type().Elem()).Elem()
			if err := d.value(elem); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(key), elem)
		}
	case reflect.String:
		line, err := d.line()
		v.SetString(line)
		return err
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		line, err := d.line()
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(line)
		v.SetInt(int64(n))
		return err
	default:
		return fmt.Errorf("a value of type %s", v.Type())
	}
	return nil
}

// fields reads the fields of a struct.
func (d *compactDecoder) fields(v reflect.Value) error {
	keys := d.keys[v.Type()]
	if keys == nil {
		keys = map[string][]int{}
		for key, field := range keysOf(v.Type()) {
			keys[key] = field.Index
		}
		d.keys[v.Type()] = keys
	}
	for {
		key, err := d.line()
		if err != nil || key == "" {
			return err
		}
		index := keys[key]
		if index == nil {
			return fmt.Errorf("unknown key %q", key)
		}
		field := v.FieldByIndex(index)
		if !field.IsZero() {
			return fmt.Errorf("the key %q is there twice", key)
		}
		if err := d.value(field); err != nil {
			return err
		}
	}
}
