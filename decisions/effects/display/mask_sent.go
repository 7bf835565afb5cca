package display

import (
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// Some programs pass text on to a server or to another program, in which the words of a
// protocol precede a secret: printf 'AUTH x\r\n' | nc, expect -c 'send "x"'.

// relays are programs that pass on what they are given.
var relays = wordset.Of("nc", "ncat", "netcat", "socat", "telnet", "redis-cli", "valkey-cli", "keydb-cli", "s_client")

// relaysInput reports whether a command sends its standard input on, or is the name of a
// connection that the shell opens.
func relaysInput(words []string) bool {
	for _, w := range words[:min(len(words), maxProgramWords)] {
		if relays.Has(programName(w)) || strings.HasPrefix(w, "/dev/tcp/") {
			return true
		}
	}
	return false
}

// loginWord reports whether a word precedes the secret of a login, and how many words of the
// line are none.
func loginWord(word string) (others int, ok bool) {
	switch word {
	case "AUTH", "PASS":
		return 0, true
	case "LOGIN":
		return 1, true
	}
	return 0, false
}

// mechanisms follow AUTH and are no secrets.
var mechanisms = wordset.Of("PLAIN", "LOGIN", "XOAUTH2", "CRAM-MD5", "DIGEST-MD5", "NTLM", "SCRAM-SHA-1", "SCRAM-SHA-256", "OAUTHBEARER", "EXTERNAL", "GSSAPI", "TLS", "SSL")

// logins calls mark with the parts of words that are secrets in the lines of a protocol, which
// the words make together.
func logins(words []string, mark func(i, from, end int)) {
	skip := -1 // how many words are left before the secret, -1 for none on this line
	for i, w := range words {
		for from := 0; from < len(w); {
			if n := lineEnd(w[from:]); n > 0 {
				skip, from = -1, from+n
				continue
			}
			end := from
			for end < len(w) && w[end] != ' ' && lineEnd(w[end:]) == 0 {
				end++
			}
			if end == from {
				from++
				continue
			}
			switch word := strings.ToUpper(w[from:end]); {
			case skip == 0 && !mechanisms.Has(word):
				mark(i, from, end)
			case skip > 0:
				skip--
			case skip < 0:
				if n, ok := loginWord(word); ok {
					skip = n
				}
			}
			from = end
		}
	}
}

// lineEnd returns the length of the end of a line that s begins with, also as printf writes it.
func lineEnd(s string) int {
	switch {
	case s[0] == '\n' || s[0] == '\r':
		return 1
	case strings.HasPrefix(s, `\n`) || strings.HasPrefix(s, `\r`):
		return 2
	}
	return 0
}

// prompts are parts of what programs print when they ask for a secret.
var prompts = []string{"assword", "assphrase", "asscode", "pin", "otp", "secret", "token", "code"}

// asksForSecret reports whether a command of expect waits for such a text.
func asksForSecret(words []string) bool {
	if len(words) == 0 || programName(words[0]) != "expect" {
		return false
	}
	for _, w := range words[1:] {
		for _, p := range prompts {
			if strings.Contains(strings.ToLower(w), p) {
				return true
			}
		}
	}
	return false
}

// sentSecret returns the index of the word that a command of expect sends, if it answers
// what asks for a secret or looks like one; 0 if it does not.
func sentSecret(words []string, asked bool) int {
	if len(words) < 2 || words[0] != "send" && words[0] != "exp_send" {
		return 0
	}
	last := len(words) - 1
	text := strings.TrimRight(words[last], `\rn`)
	if asked || looksRandom(text) {
		return last
	}
	return 0
}

// filters print what they read, in another form.
var filters = wordset.Of("base64", "base32", "tr", "cat", "tee", "sed", "cut", "head", "tail", "xxd", "rev")

// inputFile reports whether an option takes a secret from standard input, as from a file:
// --password-file=-, --key-file /dev/stdin, -passin stdin, --password-file <(…).
func inputFile(words []string, i int) bool {
	option, value, attached := strings.Cut(words[i], "=")
	if !strings.HasPrefix(option, "-") {
		return false
	}
	if !attached && i+1 < len(words) {
		value = words[i+1]
	}
	if value != "" && value != "-" && value != "/dev/stdin" && value != "stdin" {
		return false
	}
	name := strings.TrimSuffix(strings.TrimSuffix(option, "file"), "-")
	switch option {
	case "-pass", "-passin", "-passout":
		return value == "stdin"
	case "--password-file", "--passphrase-file":
		return true
	}
	return name != option && value != "" && secretName(name, nameOfOption)
}
