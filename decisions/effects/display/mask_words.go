package display

import (
	"path"
	"strings"

	"github.com/permd/permd/internal/chars"
	"github.com/permd/permd/internal/wordset"
)

// secretParts finds the words of a command that are secrets because of the words around
// them: by the names of options and settings, by secretLines, and by the pair of a user
// and a password. It calls mark with the index of a word and the number of its leading
// bytes that are not secret. A word that is not known is "".
func secretParts(words []string, mark func(i, keep int)) {
	groups := false // a colon separates a user from a group
	for at := range min(len(words), maxProgramWords) {
		groups = groups || groupAfterColon.Has(programName(words[at]))
		for _, rule := range secretRules()[programName(words[at])] {
			rule.apply(words, at, mark)
		}
	}
	for i, w := range words {
		if len(w) < 2 || i+1 >= len(words) {
			continue
		}
		if w[0] == '-' && i > 0 {
			if groups && userOption(w) {
				continue
			}
			if pairedPassword(words, i) {
				mark(i+1, 0)
			}
			if next := words[i+1]; next != "" && next[0] != '-' {
				if keep := namedValue(w, next); keep >= 0 {
					mark(i+1, keep)
				}
			}
		}
		if setters.Has(w) {
			setting(words, i, mark)
		}
		if i > 0 && passwordWords.Has(w) && looksRandom(words[i+1]) {
			mark(i+1, 0)
		}
	}
}

// apply marks what the rule says of a command whose program is words[at].
func (r *secretRule) apply(words []string, at int, mark func(i, keep int)) {
	after := at + 1
	for _, with := range r.with {
		for after < len(words) && !matchesAny(with, words[after]) {
			after++
		}
		if after++; after > len(words) {
			return
		}
	}
	if r.letter != 0 && !hasLetter(words[at+1:], r.letter) {
		return
	}
	operands := 0
	for i := after; i < len(words); i++ {
		w := words[i]
		if len(w) > 1 && (w[0] == '-' || w[0] == '/') {
			if value, keep := r.option(words, i); value >= 0 {
				mark(value, keep)
				i = value
				continue
			}
			if w[0] == '-' {
				continue
			}
		}
		operands++
		switch cut := strings.IndexByte(w, r.values); {
		case r.operands > 0 && operands >= r.operands:
			mark(i, 0)
		case r.values != 0 && cut > 0 && !strings.Contains(w, "://"):
			mark(i, cut+1)
		}
	}
}

func matchesAny(patterns []string, word string) bool {
	for _, p := range patterns {
		if p == strings.ToLower(word) || strings.HasSuffix(p, "*") && strings.HasPrefix(word, p[:len(p)-1]) {
			return true
		}
	}
	return false
}

// hasLetter reports whether an option of one dash has the letter.
func hasLetter(words []string, letter byte) bool {
	for _, w := range words {
		if len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.IndexByte(w, letter) > 0 {
			return true
		}
	}
	return false
}

// option returns the index of the word with the secret value of the option words[i], and
// how much of the word is not secret. The index is -1 if there is none.
func (r *secretRule) option(words []string, i int) (value, keep int) {
	w := words[i]
	sign := "="
	if w[0] == '/' {
		sign = ":"
	}
	name, _, attached := strings.Cut(w, sign)
	form := r.options[name]
	switch {
	case form != 0 && form != attachedValue && attached:
		return secretTail(i, w, len(name)+1, form)
	case form != 0 && form != attachedValue:
		return r.nextWord(words, i, form)
	case w[0] == '/' || w[1] == '-':
		return -1, 0
	}
	for option, form := range r.options {
		if len(w) > len(option) && strings.HasPrefix(w, option) && option[1] != '-' && (form == attachedValue || len(option) == 2 && form != nextValue) {
			return secretTail(i, w, len(option), form)
		}
	}
	// The last of several letters: curl -su.
	if form := r.options["-"+w[len(w)-1:]]; form != 0 && form != attachedValue && allLetters(w[1:]) {
		return r.nextWord(words, i, form)
	}
	return -1, 0
}

func (r *secretRule) nextWord(words []string, i int, form valueForm) (value, keep int) {
	if i+1 >= len(words) || words[i+1] == "" || words[i+1][0] == '-' {
		return -1, 0
	}
	return secretTail(i+1, words[i+1], 0, form)
}

// secretTail returns the index and where the secret begins in a value, which begins at
// byte from of the word.
func secretTail(i int, word string, from int, form valueForm) (value, keep int) {
	sign := byte(0)
	switch form {
	case colonValue, tailOrWhole:
		sign = ':'
	case percentValue:
		sign = '%'
	case commaValue:
		sign = ','
	case literalValue:
		sign = '='
	case wholeValue, attachedValue, nextValue:
	}
	if sign != 0 {
		cut := strings.IndexByte(word[from:], sign)
		switch {
		case cut >= 0:
			from += cut + 1
		case form != tailOrWhole:
			return -1, 0
		}
	}
	if from >= len(word) {
		return -1, 0
	}
	return i, from
}

func allLetters(s string) bool {
	for i := range len(s) {
		if !chars.IsLetter(s[i]) {
			return false
		}
	}
	return true
}

// Options that take a user, and those next to them that take a password for that user.
// Alone, -p is as often a port, a path or a flag.
var (
	userOptions     = wordset.Of("-u", "-U", "-user", "--user", "--username", "--login")
	passwordOptions = wordset.Of("-p", "-P", "-pw", "--pw")
)

// pairedPassword reports whether words[i+1] is the password of the user that the option
// before it or after it names.
func pairedPassword(words []string, i int) bool {
	if !passwordOptions.Has(words[i]) || portOrPath(words[i+1]) {
		return false
	}
	beside := func(option int) bool {
		return option > 0 && option+1 < len(words) && userOptions.Has(words[option]) && !strings.HasPrefix(words[option+1], "-")
	}
	return beside(i-2) || beside(i+2)
}

// portOrPath recognises what -p takes in programs where it is no password.
func portOrPath(s string) bool {
	return s == "" || s[0] == '-' || s[0] == '.' || strings.Contains(s, "/") || strings.Trim(s, "0123456789:.-") == ""
}

// setters precede a name and its value.
var setters = wordset.Of("set", "config", "put", "setx", "setenv", "set-environment", "set-env", "--arg")

// passwordWords precede a password that looks like one.
var passwordWords = wordset.Of("password", "passwd", "passphrase")

// setting marks the value of a name after the word words[i] that sets it.
func setting(words []string, i int, mark func(i, keep int)) {
	name := -1
	for j := i + 1; j < len(words) && j < i+8; j++ {
		w := words[j]
		switch {
		case strings.HasPrefix(w, "-") || setters.Has(w):
		case name >= 0:
			mark(j, 0)
			return
		case settingName(w):
			name = j
		case words[i] != "config":
			return
		}
	}
}

// settingName reports whether a setting of that name is a secret: user.password,
// //registry.example/:_authToken, app/password.
func settingName(name string) bool {
	if name == "" || strings.ContainsAny(name, "= ") {
		return false
	}
	last := path.Base(name[strings.LastIndexByte(name, ':')+1:])
	return last == "_auth" || secretName(last, nameOfVariable)
}

// namedValue returns how many leading bytes of a word are not secret, by the name of the
// option before it; -1 if it is no secret.
func namedValue(option, text string) int {
	if strings.HasPrefix(option, "--no-") || strings.Contains(option, "=") {
		return -1
	}
	if headerOption(option) {
		return secretHeader(text)
	}
	if option == "--cookie" {
		if name, value, ok := strings.Cut(text, "="); ok && value != "" && !strings.ContainsAny(name, "/ ") {
			return len(name) + 1
		}
	}
	if userOption(option) {
		if user, password, ok := strings.Cut(text, ":"); ok && password != "" && (!chars.AllDigits(user) || !chars.AllDigits(password)) && !strings.HasPrefix(password, "//") {
			return len(user) + 1
		}
	}
	if len(option) > 3 && secretName(option, nameOfOption) && !strings.HasPrefix(text, "id=") && !strings.HasPrefix(text, "type=") {
		if from, end := excluded(text, 0, len(text)); end > from && strings.IndexByte("/~.", text[0]) < 0 && !isPath(text) && !strings.Contains(text, "://") {
			return from
		}
	}
	if len(option) > 2 && weakName(option) && looksRandom(text) {
		return 0
	}
	if option == "--mfa" && len(text) >= 4 && chars.AllDigits(text) {
		return 0
	}
	return -1
}

// weakName reports whether an option's name is one of those that secrets and harmless
// values share: --key, --auth, --session.
func weakName(option string) bool {
	name := strings.TrimLeft(option, "-")
	return name == "mfa" || segmentMeans(name)&(meansKey|meansAuth|meansSession|meansCookie|meansSign) != 0
}

// shortestRandom is the least length of what looksRandom recognises.
const shortestRandom = 8

// looksRandom recognises long words of letters and digits, as keys are.
func looksRandom(s string) bool {
	digits, letters := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case chars.IsLetter(c):
			letters++
		case strings.IndexByte("-_+=!@%", c) < 0:
			return false
		}
	}
	return len(s) >= shortestRandom && digits >= 1 && letters >= 1
}

// headerOption reports whether an option takes a header: -H, also as the last of several
// letters.
func headerOption(option string) bool {
	return option == "--header" || option == "--proxy-header" || option == "-rpc-header" || len(option) > 1 && option[1] != '-' && option[len(option)-1] == 'H' && allLetters(option[1:])
}
