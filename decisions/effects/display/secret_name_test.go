package display

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"API_KEY": true, "apiKey": true, "APIKey": true, "X-Api-Key": true, "OPENAI_API_KEY": true, "key": false, "apikey": true, "TOKEN": true,
		"GITHUB_TOKEN": true, "githubToken2": true, "ghtoken": true, "DB_PASSWORD": true, "AWS_ACCESS_KEY_ID": false, "MYSQL_PWD": true, "PWD": false,
		"monkey": false, "KEYCLOAK": false, "author": false, "tokens": false, "TOKEN_FILE": false, "secretName": false, "": false, "-": false, "__": false,
		"USER_PIN": true, "PIN": true, "spin": false, "PIN_COUNT": false, "MFA_CODE": true, "mfa_serial": false, "exit_code": false, "country-code": false, "seed_phrase": true, "phrase": false, "RANDOM_SEED": false, "rootpw": true, "2fa-code": true,
		"SESSION_ID": true, "session": false, "PUBLIC_KEY": false, "private.key": true, strings.Repeat("token_", 20): false,
	} {
		if got := secretName(name, nameOfVariable); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}

// TestOptionsOfSecrets makes names of options of words that mean secrets, and tries them with a
// program that nothing is known of.
func TestOptionsOfSecrets(t *testing.T) {
	const canary = "hunter2canary"
	tried := 0
	for word := range strings.FieldsSeq("token secret password passwd passphrase passcode apikey api-key authorization credential cred creds jwt bearer otp totp psk access-key private-key auth-token authToken apiKey secretAccessKey signing-key encryption-key db-pass root-pw") {
		for _, before := range []string{"", "db-", "x-", "NPM_", "client.", "my-"} {
			for _, after := range []string{"", "s", "-value", "-literal", "-data", "-hex", "-plain", "-text", "-string", "-base64", "-b64", "-json", "-raw", "-old", "-new", "-confirm"} {
				name := before + word + after
				if after == "s" && (strings.HasSuffix(word, "s") || strings.HasSuffix(word, "oken") || strings.HasSuffix(word, "pw")) {
					continue // --max-tokens
				}
				for _, words := range [][]string{{"frob", "--" + name, canary, "x"}, {"frob", "--" + name + "=" + canary}, {"frob", "-" + name, canary}, {"frob", "x", "-" + name + "=" + canary, "--"}} {
					tried++
					var list []effects.Word
					for _, w := range words {
						list = append(list, effects.LiteralWord(w))
					}
					if shown, _ := Command("run ", list); strings.Contains(shown, canary) {
						t.Errorf("shown: %s", shown)
					}
					if text := strings.Join(words, " "); strings.Contains(Display(text), canary) {
						t.Errorf("in a text: %s", Display(text))
					}
				}
			}
		}
	}
	if tried == 0 {
		t.Error("none tried")
	}
	for _, name := range []string{"--token-file", "--password-stdin", "--max-tokens", "--list-keys", "--sort-keys", "--key-id", "--secret-name", "--key", "--passes", "--data", "--raw-value"} {
		if shown, _ := Command("run ", []effects.Word{effects.LiteralWord("frob"), effects.LiteralWord(name), effects.LiteralWord("alice")}); strings.Contains(shown, Masked) {
			t.Errorf("masked: %s", shown)
		}
	}
}
