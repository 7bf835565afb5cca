package body

import "bytes"

var outcomeName = []byte(`,"outcome":"`)

// Outcome returns what became of a record's call, nil for nothing special. Only a decision
// has such a member, and inside a text the quotes would be escaped.
func Outcome(record []byte) []byte {
	at := bytes.Index(record, outcomeName)
	if at < 0 {
		return nil
	}
	value := record[at+len(outcomeName):]
	end := bytes.IndexByte(value, '"')
	if end < 0 || bytes.IndexByte(value[:end], '\\') >= 0 {
		return nil
	}
	return value[:end]
}
