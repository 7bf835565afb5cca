package acp

import "github.com/go-json-experiment/json/jsontext"

// AppendJSON implements socket.Appender: the same as the JSON library's form.
func (r permissionResult) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"outcome":{"outcome":`...)
	b, err := jsontext.AppendQuote(b, r.Outcome.Outcome)
	if err == nil && r.Outcome.OptionID != "" {
		b = append(b, `,"optionId":`...)
		b, err = jsontext.AppendQuote(b, r.Outcome.OptionID)
	}
	b = append(b, '}')
	if err == nil && r.Meta != nil {
		b = append(b, `,"_meta":{`...)
		if r.Meta.Permd != nil {
			b = append(b, `"permd":`...)
			b, err = r.Meta.Permd.AppendJSON(b)
		}
		b = append(b, '}')
	}
	return append(b, '}'), err
}
