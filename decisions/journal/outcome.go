package journal

import "bytes"

var outcomeName = []byte(`,"outcome":"`)

// outcomeOf returns what became of a record's call, "" for nothing special. Only a
// decision has such a member, and inside a text the quotes would be escaped.
func outcomeOf(record []byte) string {
	at := bytes.Index(record, outcomeName)
	if at < 0 {
		return ""
	}
	value := record[at+len(outcomeName):]
	end := bytes.IndexByte(value, '"')
	if end < 0 || bytes.IndexByte(value[:end], '\\') >= 0 {
		return ""
	}
	return column(string(value[:end]))
}
