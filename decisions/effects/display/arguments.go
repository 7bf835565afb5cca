package display

import "github.com/go-json-experiment/json/jsontext"

// MaxArguments is how long arguments may be for [Arguments], in bytes as they are shown.
const MaxArguments = 64 << 10

// Arguments returns the arguments of a tool, as JSON, for a question about its call: masked
// and escaped as by [Display], and whole, since who says yes to a part of them says yes to
// what they did not see. Escapes that need not be are gone, so that each text is shown as
// it is. It returns false for what is too long.
func Arguments(input jsontext.Value) (text string, ok bool) {
	if len(input) > 6*MaxArguments { // six bytes can be one escaped character
		return "", false
	}
	plain, err := jsontext.AppendFormat(nil, input)
	if err != nil {
		return "", false
	}
	text = escape(mask(maskMembers(string(plain))))
	return text, len(text) <= MaxArguments
}
