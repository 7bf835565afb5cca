package display

import (
	"strings"

	"github.com/permd/permd/internal/chars"
)

// A name says that its value is a secret by its segments: API_KEY, X-Api-Key
// and apiKey are made of "api" and "key". Whole segments count, so that monkey,
// KEYCLOAK and author say nothing, and the last one can take it back: a key
// file's path and a token's type are no secrets.

// naming is where a name stands. The weaker the place tells names from common
// words, the more the name has to say.
type naming uint8

const (
	NameOfVariable naming = iota // NAME=value
	nameOfOption                 // --name value, --name=value
	nameOfQuery                  // ?name=value
	nameOfHeader                 // Name: value
	nameOfMember                 // "name": "value"
)

// says is what segments of a name say.
type says uint16

const (
	saysSecret  says = 1 << iota // token, password …
	saysKey                      // key: a secret beside another word
	saysAuth                     // auth
	saysSession                  // session
	saysPass                     // pass, pwd
	saysCookie                   // cookie
	saysSign                     // sig, signature: of an address
	saysID                       // id
	saysPublic                   // of keys that are none: public, primary …
	saysAbout                    // file, type …: something about a secret
)

var segmentSays = func() map[string]says {
	all := map[string]says{"key": saysKey, "auth": saysAuth, "session": saysSession, "cookie": saysCookie, "id": saysID, "sid": saysSession | saysID}
	for list, means := range map[string]says{
		"token secret password passwd passphrase passcode apikey authorization credential credentials jwt": saysSecret,
		"pass pwd":      saysPass,
		"sig signature": saysSign,
		"public primary foreign sort partition cache host idempotency object routing group default known shift translation": saysPublic,
		"file path dir directory folder name type url uri host port format size length count ttl expiry expires expiration timeout " +
			"algorithm alg store ring prefix suffix provider class usage max min limit policy method mode scheme enabled required " +
			"version alias field column stdin env var fd command cmd helper program source manager fingerprint rotation endpoint " +
			"issuer audience scope scopes realm user username email label index address agent sock socket info status state budget " +
			"rate price cost required optional only server service": saysAbout,
	} {
		for word := range strings.FieldsSeq(list) {
			all[word] |= means
		}
	}
	return all
}()

// longSecrets may also end a segment: PGPASSWORD, authtoken.
var longSecrets = []string{"password", "passwd", "passphrase", "secret", "token", "apikey"}

// maxSecretName is how long a name may be that is looked at, in bytes.
const maxSecretName = 64

// SecretName reports whether the value of that name is a secret.
func SecretName(name string, at naming) bool {
	if len(name) > maxSecretName {
		return false
	}
	var all, last says
	segments := 0
	for rest := name; rest != ""; {
		var segment string
		segment, rest = cutSegment(rest)
		if segment == "" {
			continue
		}
		segments++
		last = segmentMeans(segment)
		all |= last
	}
	single := segments == 1
	switch {
	case all == 0, last&saysAbout != 0:
		return false
	case all&saysSecret != 0:
		return true
	case all&saysCookie != 0:
		return at == nameOfHeader || at == NameOfVariable && !single
	case all&saysSession != 0:
		return at == nameOfHeader && !single || at == nameOfQuery || all&saysID != 0
	case last&saysPass != 0:
		return !single || at != nameOfHeader && !strings.EqualFold(name, "pwd")
	case all&saysAuth != 0:
		return !single || at == nameOfQuery || at == NameOfVariable && upperCase(name)
	case last&saysKey != 0:
		return !single && all&saysPublic == 0 || single && (at == nameOfQuery || at == NameOfVariable && upperCase(name))
	case last&saysSign != 0:
		return at == nameOfQuery
	}
	return false
}

// segmentMeans looks up a segment, whatever its case.
func segmentMeans(segment string) says {
	var buf [maxSecretName]byte
	lower := buf[:copy(buf[:], segment)]
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c | 0x20
		}
	}
	if means, ok := segmentSays[string(lower)]; ok {
		return means
	}
	if len(lower) > len("token") {
		for _, end := range longSecrets {
			if len(lower) > len(end) && string(lower[len(lower)-len(end):]) == end {
				return saysSecret
			}
		}
	}
	return 0
}

// cutSegment splits the first segment off: letters up to another character or
// to a capital that begins a word.
func cutSegment(name string) (segment, rest string) {
	i := 0
	for i < len(name) && chars.IsLetter(name[i]) {
		if i > 0 && isUpper(name[i]) && (!isUpper(name[i-1]) || i+1 < len(name) && chars.IsLetter(name[i+1]) && !isUpper(name[i+1])) {
			return name[:i], name[i:]
		}
		i++
	}
	if i < len(name) {
		return name[:i], name[i+1:]
	}
	return name, ""
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// upperCase reports whether a name is written as variables of the environment
// are.
func upperCase(name string) bool { return strings.ToUpper(name) == name }
