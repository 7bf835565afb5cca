package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Values splits data into the values that are in it one after another, as in
// JSON lines or in one document over several lines. Each has passed Check.
func Values(data []byte) ([]Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	var values []Value
	for {
		v, err := dec.ReadValue()
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", len(values)+1, cleanError(err))
		}
		if err := Check(v); err != nil {
			return nil, fmt.Errorf("value %d: %w", len(values)+1, err)
		}
		values = append(values, bytes.Clone(v))
	}
}
