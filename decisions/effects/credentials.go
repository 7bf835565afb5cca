package effects

import (
	"slices"
	"strings"
)

// Sorted returns the credentials sorted, so that the same ones are equal however a
// caller lists them. An authorization that occurs twice gets the scopes of both.
func (g Credentials) Sorted() Credentials {
	scopes := map[string][]string{}
	for _, a := range g.Authorizations {
		scopes[a.ID] = append(scopes[a.ID], a.Scopes...)
	}
	var s Credentials
	s.Secrets = unique(g.Secrets)
	for id, list := range scopes {
		s.Authorizations = append(s.Authorizations, Authorization{id, unique(list)})
	}
	slices.SortFunc(s.Authorizations, func(a, b Authorization) int { return strings.Compare(a.ID, b.ID) })
	return s
}

func unique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Empty reports whether there are no credentials.
func (g *Credentials) Empty() bool { return len(g.Secrets)+len(g.Authorizations) == 0 }

// String describes the credentials for people; "" if there are none.
func (g *Credentials) String() string {
	var parts []string
	for _, id := range g.Secrets {
		parts = append(parts, "secret "+id)
	}
	for _, a := range g.Authorizations {
		part := "authorization " + a.ID
		if len(a.Scopes) > 0 {
			part += " (" + strings.Join(a.Scopes, " ") + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
