package programs

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/rego"
)

var update = flag.Bool("update", false, "write the compact form of the shipped program table anew")

// shipped returns the shipped program table.
func shipped(t testing.TB) *Table {
	t.Helper()
	table, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestShippedIsWritten: what programs are read from is what rego/programs says.
func TestShippedIsWritten(t *testing.T) {
	want := map[string]*tableFile{}
	for name, data := range rego.Programs() {
		file, err := decodeTableFile(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		withoutLines(reflect.ValueOf(file).Elem())
		want[name] = file
	}
	text := encodeCompact(t, want)
	if *update {
		if err := os.WriteFile("../../../rego/programs.txt", text, 0o600); err != nil {
			t.Fatal(err)
		}
		return // the next run has it
	}
	got, err := decodeCompact(rego.CompactPrograms())
	if err != nil {
		t.Fatal(err)
	}
	const how = "go test ./decisions/effects/programs -run TestShippedIsWritten -update"
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("rego/programs.txt is not what rego/programs says (-programs +programs.txt); %s writes it:\n%s", how, diff(want, got))
	}
	if string(text) != rego.CompactPrograms() {
		t.Errorf("rego/programs.txt is written in another way; %s writes it", how)
	}
}

// TestShippedIsParsed: the table that is made of the compact form is the one that is made of
// YAML, but for lines.
func TestShippedIsParsed(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compares all that is made of the files, which TestShippedIsWritten compares")
	}
	want, err := ParseTable(rego.Programs())
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range want.groups {
		withoutLines(reflect.ValueOf(list))
	}
	formats := cmp.Comparer(func(a, b *settings.Format) bool { // they hold functions
		return a == nil && b == nil || a != nil && b != nil && fmt.Sprintf("%+v", *a) == fmt.Sprintf("%+v", *b)
	})
	if diff := diff(want, shipped(t), formats); diff != "" {
		t.Errorf("the tables differ (-programs +programs.txt):\n%s", diff)
	}
}

func diff(a, b any, more ...cmp.Option) string {
	return cmp.Diff(a, b, append(more, cmp.Exporter(func(reflect.Type) bool { return true }))...)
}

// withoutLines takes the lines out of a value of a file.
func withoutLines(v reflect.Value) {
	if v.CanAddr() {
		if word, ok := v.Addr().Interface().(*textNode); ok {
			word.line = 0
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			withoutLines(v.Elem())
		}
	case reflect.Struct:
		for _, field := range keysOf(v.Type()) {
			withoutLines(v.FieldByIndex(field.Index))
		}
	case reflect.Slice:
		for i := range v.Len() {
			withoutLines(v.Index(i))
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			withoutLines(i.Value())
		}
	}
}

// encodeCompact writes the text that decodeCompact reads.
func encodeCompact(t testing.TB, files map[string]*tableFile) []byte {
	var out bytes.Buffer
	line := func(text string) {
		if strings.Contains(text, "\n") {
			t.Fatalf("a text of several lines: %q", text)
		}
		out.WriteString(text + "\n")
	}
	var value func(v reflect.Value)
	value = func(v reflect.Value) {
		if word, ok := v.Interface().(textNode); ok {
			line(word.text)
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			keys := keysOf(v.Type())
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				if field := v.FieldByIndex(keys[key].Index); !field.IsZero() {
					line(key)
					value(field)
				}
			}
			line("")
		case reflect.Pointer:
			value(v.Elem())
		case reflect.Slice:
			line(fmt.Sprint(v.Len()))
			for i := range v.Len() {
				value(v.Index(i))
			}
		case reflect.Map:
			line(fmt.Sprint(v.Len()))
			for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
				line(key.String())
				value(v.MapIndex(key))
			}
		case reflect.String:
			line(v.String())
		case reflect.Int:
			line(fmt.Sprint(v.Int()))
		case reflect.Bool: // true, since it is not zero
		default:
			t.Fatalf("a value of type %s", v.Type())
		}
	}
	value(reflect.ValueOf(files))
	return out.Bytes()
}

func TestDecodeCompactErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":               {"", "ends too early"},
		"the end of a line":     {"0", "ends too early"},
		"more":                  {"0\n\n", "after the last file"},
		"no number":             {"x\n", "no number of values"},
		"less than nothing":     {"-1\n", "no number of values"},
		"more than there is":    {"9\na.yaml\n\n", "no number of values"},
		"an unknown key":        {"1\na.yaml\nburns\n\n", `unknown key "burns"`},
		"a key twice":           {"1\na.yaml\nsame\n1\nx\nsame\n1\nx\n\n", "there twice"},
		"a program without end": {"1\na.yaml\nprograms\n1\nreadonly\n", "ends too early"},
		"a skip of a word":      {"1\na.yaml\nprograms\n1\nwrapper\nskip\nx\n\n\n\n", "invalid syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := decodeCompact(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// BenchmarkTable compares the two forms of the shipped table.
func BenchmarkTable(b *testing.B) {
	b.Run("yaml", func(b *testing.B) {
		for b.Loop() {
			if _, err := ParseTable(rego.Programs()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compact", func(b *testing.B) {
		for b.Loop() {
			if _, err := readShipped(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// FuzzCompact: what is read is written as something that is read the same.
func FuzzCompact(f *testing.F) {
	for _, text := range []string{
		"0\n", "1\na.yaml\n\n", "1\na.yaml\nprograms\n1\nnames\n1\nx\nreadonly\nreadonly_operands\n2\noptions\n1\nharmless\n1\n-x\nimplies\n1\n-x\n1\n-y\n\n\n",
		"1\na.yaml\nshell\nnumbers\n1\nlet\n\n\n", "1\na.yaml\nprograms\n1\nwrapper\nskip\n2\n\n\n\n", "9\n9\n", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files, err := decodeCompact(text)
		if err != nil {
			return
		}
		again, err := decodeCompact(string(encodeCompact(t, files)))
		if err != nil || !reflect.DeepEqual(again, files) {
			t.Errorf("read again: %v\n%s", err, diff(files, again))
		}
	})
}
