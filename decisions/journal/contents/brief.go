package contents

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// Brief reads no more of a record's JSON than its project and details, which is several
// times as fast as all of it.
func Brief(data []byte) (*decisions.Record, error) {
	var rec decisions.Record
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("reading a record: %w", err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("reading a record: %w", err)
		}
		var to any
		switch name.String() {
		case "project":
			to = &rec.Project
		case "details":
			to = &rec.Details
		default:
			if err := d.SkipValue(); err != nil {
				return nil, fmt.Errorf("reading a record: %w", err)
			}
			continue
		}
		value, err := d.ReadValue()
		if err == nil {
			err = strictjson.Unmarshal(value, to)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a record: %w", err)
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("reading a record: %w", err)
	}
	return &rec, nil
}
