package mcp

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/internal/strictjson"
)

// The members of a form's schema, of a field in it, of a list's items, and of one of several
// values, that the protocol has.
var (
	schemaMembers = []string{"$schema", "type", "properties", "required"}
	fieldMembers  = []string{
		"type", "title", "description", "default", "enum", "enumNames", "oneOf", "minLength", "maxLength", "format", "pattern",
		"minimum", "maximum", "items", "minItems", "maxItems",
	}
	itemsMembers  = []string{"type", "enum", "enumNames", "anyOf"}
	choiceMembers = []string{"const", "title"}
)

// signSchema returns the schema of a server's form with titles that say who asks. Other members
// than those that the protocol has are left out.
func signSchema(server string, v strictjson.Value) (made string, ok bool) {
	return members(v, schemaMembers, func(m strictjson.Member) (string, bool) {
		if m.Name != "properties" {
			return string(m.Value), true
		}
		fields, err := strictjson.ParseObject(m.Value)
		if err != nil {
			return "", false
		}
		parts := make([]string, len(fields))
		for i, f := range fields {
			text, ok := signField(server, f)
			if !ok {
				return "", false
			}
			parts[i] = quote(f.Name) + ":" + text
		}
		return "{" + strings.Join(parts, ",") + "}", true
	})
}

// members returns an object with the known ones of its members.
func members(v strictjson.Value, known []string, made func(strictjson.Member) (string, bool)) (text string, ok bool) {
	o, err := strictjson.ParseObject(v)
	if err != nil || o.NearMiss(known...) != "" {
		return "", false
	}
	text, why := rebuilt(o, known, made)
	return text, why == ""
}

// signField returns a field with a title, since clients show the name of one without.
func signField(server string, field strictjson.Member) (made string, ok bool) {
	o, err := strictjson.ParseObject(field.Value)
	if err != nil {
		return "", false
	}
	if _, titled := o.Get("title"); !titled {
		o = append(slices.Clone(o), strictjson.Member{Name: "title", Value: strictjson.Value(quote(field.Name))})
	}
	if o.NearMiss(fieldMembers...) != "" {
		return "", false
	}
	o = slices.DeleteFunc(slices.Clone(o), func(m strictjson.Member) bool { return m.Name == "default" && !isPlainDefault(m.Value) })
	made, why := rebuilt(o, fieldMembers, func(m strictjson.Member) (string, bool) {
		switch m.Name {
		case "title", "description":
			s, ok := strictjson.ParseString(m.Value)
			return quote("The server " + server + " asks: " + plainLine(s)), ok
		case "enum":
			return listOf(m.Value, shownValue)
		case "enumNames":
			return listOf(m.Value, plainTitle)
		case "oneOf":
			return listOf(m.Value, choice)
		case "items":
			return members(m.Value, itemsMembers, func(m strictjson.Member) (string, bool) {
				switch m.Name {
				case "anyOf":
					return listOf(m.Value, choice)
				case "enum":
					return listOf(m.Value, shownValue)
				case "enumNames":
					return listOf(m.Value, plainTitle)
				}
				return string(m.Value), true
			})
		}
		return string(m.Value), true
	})
	return made, why == ""
}

// listOf returns a list with what made returns for each of its values.
func listOf(v strictjson.Value, made func(strictjson.Value) (string, bool)) (text string, ok bool) {
	list, err := strictjson.ParseArray(v)
	if err != nil || len(list) > maxChoices {
		return "", false
	}
	parts := make([]string, len(list))
	for i, v := range list {
		if parts[i], ok = made(v); !ok {
			return "", false
		}
	}
	return "[" + strings.Join(parts, ",") + "]", true
}

// choice returns one of several values with its title.
func choice(v strictjson.Value) (text string, ok bool) {
	return members(v, choiceMembers, func(m strictjson.Member) (string, bool) {
		if m.Name == "title" {
			return plainTitle(m.Value)
		}
		return shownValue(m.Value)
	})
}

// Bounds of the values that a field offers, and of the text of each in characters.
const (
	maxChoices    = 256
	maxChoiceText = 256
)

// plainTitle returns the title of a value to choose from.
func plainTitle(v strictjson.Value) (text string, ok bool) {
	s, ok := strictjson.ParseString(v)
	if s = plainLine(s); utf8.RuneCountInString(s) > maxChoiceText {
		s = string([]rune(s)[:maxChoiceText]) + "…"
	}
	return quote(s), ok
}

// shownValue returns a value to choose from. It is shown where it has no title, and has to come
// back as it is: so one that could be taken for more than a value is none.
func shownValue(v strictjson.Value) (text string, ok bool) {
	s, isText := strictjson.ParseString(v)
	if isText && (utf8.RuneCountInString(s) > maxChoiceText || !isPlain(s)) {
		return "", false
	}
	return string(v), isText
}

// isPlainDefault reports whether what a field holds already shows as one line.
func isPlainDefault(v strictjson.Value) bool {
	switch strictjson.Kind(v) {
	case '"':
		s, _ := strictjson.ParseString(v)
		return utf8.RuneCountInString(s) <= maxFormText && isPlain(s)
	case '[':
		_, ok := listOf(v, shownValue)
		return ok
	case '{':
		return false
	}
	return true
}

// isPlain reports whether a text shows as one line, with nothing in it that could push other
// text out of sight.
func isPlain(s string) bool { return s == "" || plainLine(s) == s }

// plainLine returns a server's text as one line.
func plainLine(text string) string { return strings.Join(plainLines(text), " ") }
