// Package contents tells which records a filter selects by what is inside of them.
package contents

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/lexpath"
)

// Wanted reports whether a filter selects by what is inside of records.
func Wanted(f *decisions.RecordFilter) bool { return f.Project != "" || f.Path != "" || f.Host != "" }

// Match reports whether a record has what the filter selects by its content. One that
// cannot be read must be seen to be missing.
func Match(f *decisions.RecordFilter, rec *decisions.Record) bool {
	if !Wanted(f) || rec.Unreadable != "" {
		return true
	}
	if f.Project != "" && !InProject(f.Project, rec.Project) {
		return false
	}
	has := func(is func(*decisions.EffectDetail) bool) bool {
		for i := range rec.Details {
			if is(&rec.Details[i]) {
				return true
			}
		}
		return false
	}
	return (f.Path == "" || has(func(d *decisions.EffectDetail) bool { return strings.Contains(d.Path, f.Path) })) &&
		(f.Host == "" || has(func(d *decisions.EffectDetail) bool { return OfHost(d.Host, f.Host) }))
}

// InProject reports whether a record's project is in a folder.
func InProject(folder, project string) bool { return lexpath.In(folder, project) }

// OfHost reports whether a host has that name, or one below it.
func OfHost(host, name string) bool {
	host, name = strings.ToLower(host), strings.ToLower(name)
	before, ok := strings.CutSuffix(host, name)
	return ok && (before == "" || before[len(before)-1] == '.')
}

// errNotText is the error for a filter that no record can have.
var errNotText = errors.New("what is looked for is not UTF-8")

// Needles returns texts that the JSON of a record has, if a filter selects it.
func Needles(f *decisions.RecordFilter) (list [][]byte, err error) {
	for _, text := range []struct{ before, text string }{{`"project":"`, f.Project}, {"", f.Path}} {
		if text.text == "" {
			continue
		}
		quoted, err := jsontext.AppendQuote(nil, text.text)
		if err != nil {
			return nil, errNotText
		}
		list = append(list, append([]byte(text.before), bytes.Trim(quoted, `"`)...))
	}
	if f.Host != "" {
		list = append(list, []byte(`"host":"`))
	}
	return list, nil
}
