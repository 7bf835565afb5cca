package display

import (
	"strings"
	"sync"

	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/wordset"
)

// A name denotes a secret by its segments: API_KEY, X-Api-Key and apiKey consist of
// "api" and "key". Only whole segments count, so that monkey, KEYCLOAK and author do
// not match, and the last segment may negate the others: the path of a key file and
// the type of a token are no secrets.

// nameContext is the context of a name. The less it distinguishes names from common
// words, the more specific the name has to be.
type nameContext uint8

const (
	nameOfVariable nameContext = iota // NAME=value
	nameOfOption                      // --name value, --name=value
	nameOfQuery                       // ?name=value
	nameOfHeader                      // Name: value
	nameOfMember                      // "name": "value"
)

// nameMeaning is the meaning of a name's segments.
type nameMeaning uint16

const (
	meansSecret  nameMeaning = 1 << iota // token, password …
	meansKey                             // key: a secret next to another word
	meansAuth                            // auth
	meansSession                         // session
	meansPass                            // pass, pwd
	meansCookie                          // cookie
	meansSign                            // sig, signature: of a URL
	meansID                              // id
	meansPublic                          // of keys that are not secret: public, primary …
	meansAbout                           // file, type …: a property of a secret
	meansFactor                          // mfa, verification, seed …: of a code or phrase that is a secret
	meansCode                            // code, phrase
	meansForm                            // value, hex …: the form of a secret, which the words before it name
)

var segmentMeanings = sync.OnceValue(func() map[string]nameMeaning {
	all := map[string]nameMeaning{"key": meansKey, "auth": meansAuth, "session": meansSession, "cookie": meansCookie, "code": meansCode, "phrase": meansCode, "id": meansID, "sid": meansSession | meansID, "sessionid": meansSession | meansID}
	for list, means := range map[string]nameMeaning{
		"token secret password passwd passphrase passcode apikey authorization credential credentials cred creds jwt bearer otp totp psk": meansSecret,
		"pass pwd pw pat pin puk salt pepper mnemonic": meansPass,
		"mfa fa factor verification recovery backup security unlock activation pairing invite invitation access login sms confirmation time seed wallet": meansFactor,
		"sig signature": meansSign,
		"value literal data hex plain plaintext text string base b json raw old new current confirm content material": meansForm,
		"public primary foreign sort partition cache host idempotency object routing group default known shift translation label config hash " +
			"list show fetch recv receive send export import search refresh delete": meansPublic,
		"file path dir directory folder name type url uri host port format size length count ttl expiry expires expiration timeout " +
			"algorithm alg store ring prefix suffix provider class usage max min limit policy method mode scheme enabled required " +
			"version alias field column stdin env var fd command cmd helper program source manager fingerprint rotation endpoint " +
			"issuer audience scope scopes realm user username email label index address agent sock socket info status state budget " +
			"rate price cost required optional only server service serial device configuration": meansAbout,
	} {
		for word := range strings.FieldsSeq(list) {
			all[word] |= means
		}
	}
	return all
})

// longSecrets may also end a segment: PGPASSWORD, authtoken.
var longSecrets = []string{"password", "passwd", "passphrase", "secret", "token", "apikey", "authkey", "accesskey", "secretkey", "privatekey", "masterkey"}

// passWords end in "pass" and mean no password, unlike keypass and dbpass.
var passWords = wordset.Fields("bypass compass encompass trespass overpass underpass surpass multipass singlepass onepass twopass firstpass lastpass")

// maxSecretName is the maximum length of a name that is examined, in bytes.
const maxSecretName = 64

// secretName reports whether a value of that name is a secret.
func secretName(name string, at nameContext) bool {
	if len(name) > maxSecretName {
		return false
	}
	var all, last nameMeaning
	segments := 0
	for rest := name; rest != ""; {
		var segment string
		segment, rest = cutSegment(rest)
		if segment == "" {
			continue
		}
		means := segmentMeans(segment)
		switch {
		case means == meansForm && all != 0:
			continue
		case all&(meansAuth|meansFactor) != 0 && strings.EqualFold(segment, "tokens"): // else often a number of something
			means = meansSecret
		}
		segments++
		last = means
		all |= last
	}
	single := segments == 1
	switch {
	case all == 0, last&meansAbout != 0:
		return false
	case all&meansSecret != 0:
		return at != nameOfOption || last != meansID // --secret-id of aws names a secret
	case last&meansCode != 0:
		return all&(meansFactor|meansAuth|meansSecret) != 0
	case all&meansCookie != 0:
		return at == nameOfHeader || at == nameOfVariable && !single
	case all&meansSession != 0:
		return at == nameOfHeader && !single || at == nameOfQuery || all&meansID != 0
	case last&meansPass != 0:
		return !single || at == nameOfMember || at != nameOfHeader && name != "pwd" && name != "PWD"
	case all&meansAuth != 0:
		if at == nameOfOption {
			return !single && last&meansAuth != 0
		}
		return !single || at == nameOfQuery || at == nameOfVariable && upperCase(name)
	case last&meansKey != 0:
		return !single && all&meansPublic == 0 || single && (at == nameOfQuery || at == nameOfVariable && upperCase(name))
	case last&meansSign != 0:
		return at == nameOfQuery
	}
	return false
}

// endsInSecret reports whether the last segment of a name has a meaning.
func endsInSecret(name string) bool {
	var last nameMeaning
	for rest := name; rest != ""; {
		var segment string
		if segment, rest = cutSegment(rest); segment != "" {
			last = segmentMeans(segment)
		}
	}
	return last != 0
}

// segmentMeans looks up a segment, ignoring case.
func segmentMeans(segment string) nameMeaning {
	var buf [maxSecretName]byte
	lower := buf[:copy(buf[:], segment)]
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c | 0x20
		}
	}
	if means, ok := segmentMeanings()[string(lower)]; ok {
		return means
	}
	if n := len(lower) - 1; n > 2 && lower[n] == 's' && string(lower) != "tokens" {
		if means := segmentMeanings()[string(lower[:n])]; means == meansSecret || means == meansKey {
			return means
		}
	}
	if len(lower) > len("token") {
		for _, end := range longSecrets {
			if len(lower) > len(end) && string(lower[len(lower)-len(end):]) == end {
				return meansSecret
			}
		}
	}
	if text := string(lower); len(text) > len("pass") && strings.HasSuffix(text, "pass") && !passWords.Has(text) || len(text) > len("pw") && strings.HasSuffix(text, "pw") {
		return meansPass
	}
	return 0
}

// cutSegment splits off the first segment: letters up to another character or to a
// capital that begins a word.
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

// upperCase reports whether a name is written like an environment variable.
func upperCase(name string) bool { return strings.ToUpper(name) == name }
