package aap

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/strictjson"
)

// encodeText encodes a text as JSON.
func encodeText(s string) (strictjson.Value, error) {
	v, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding a message: %w", err)
	}
	return v, nil
}
