package display

import (
	"strings"
	"testing"
)

func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"API_KEY": true, "apiKey": true, "APIKey": true, "X-Api-Key": true, "OPENAI_API_KEY": true, "key": false, "apikey": true, "TOKEN": true,
		"GITHUB_TOKEN": true, "githubToken2": true, "ghtoken": true, "DB_PASSWORD": true, "AWS_ACCESS_KEY_ID": false, "MYSQL_PWD": true, "PWD": false,
		"monkey": false, "KEYCLOAK": false, "author": false, "tokens": false, "TOKEN_FILE": false, "secretName": false, "": false, "-": false, "__": false,
		"USER_PIN": true, "PIN": true, "spin": false, "PIN_COUNT": false, "MFA_CODE": true, "mfa_serial": false, "exit_code": false, "country-code": false, "seed_phrase": true, "phrase": false, "RANDOM_SEED": false, "rootpw": true, "2fa-code": true,
		"SESSION_ID": true, "session": false, "PUBLIC_KEY": false, "private.key": true, strings.Repeat("token_", 20): false,
	} {
		if got := SecretName(name, NameOfVariable); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}
