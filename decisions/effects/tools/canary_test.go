package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// secretCommands have one secret each, in the ways in which agents write them.
var secretCommands = []string{
	`curl -H "X-Api-Key: CANARY" https://a.dev`, `curl -H 'Cookie: sid=CANARY; b=CANARY' https://a.dev`, `curl -H "Authorization: Custom CANARY" https://a.dev`,
	`curl -u ana:CANARY https://a.dev`, `curl --user=ana:CANARY https://a.dev`, `curl "https://a.dev/?access_token=CANARY"`, `curl https://ana:CANARY@a.dev/x`,
	`curl -d '{"password":"CANARY"}' https://a.dev`, `curl --json '{"apiKey": "CANARY"}' https://a.dev`, `curl -d "token=CANARY" https://a.dev`,
	`wget --password=CANARY https://a.dev`, `wget --header='PRIVATE-TOKEN: CANARY' https://a.dev`,
	`mysql -u root -pCANARY shop`, `mysql --password=CANARY shop`, `sshpass -p CANARY ssh host`, `PGPASSWORD=CANARY psql -h db`, `psql postgres://ana:CANARY@db/shop`,
	`export API_KEY=CANARY`, `FOO_SECRET=CANARY make`, `env FOO_TOKEN=CANARY make`, `DB_PASS='CANARY x' make`, `declare -x MY_TOKEN=CANARY`, `docker login -u ana -p CANARY r.dev`,
	`docker run -e API_KEY=CANARY img`, `git clone https://ana:CANARY@git.dev/x`, `git -c http.extraHeader='Authorization: Basic CANARY' fetch`,
	`frob --token CANARY`, `frob --token=CANARY`, `frob --client-secret 'CANARY;CANARY b'`, `frob --api-key "CANARY"`, `redis-cli -a CANARY ping`, `openssl rsa -passin pass:CANARY`,
	`kubectl create secret generic x --from-literal=password=CANARY`, `aws configure set aws_secret_access_key CANARY --profile x`, `npm config set //r.dev/:_authToken=CANARY`,
	`bash -c 'FOO_TOKEN=CANARY make'`, `ssh host 'export API_KEY=CANARY'`, `eval "API_KEY=CANARY make"`, `timeout 5 env API_KEY=CANARY make`, `sudo API_KEY=CANARY make`,
	`echo "$(API_KEY=CANARY make)"`, `f() { API_KEY=CANARY make; }`, `make API_KEY=CANARY`, `for x in 1; do frob --token CANARY; done`, `frob --token CANARY > out`,
	`trap 'frob --token CANARY' EXIT`, `frob --token CANARY "$x"`, `frob --frobnicate --token CANARY | sh`, `find . -exec frob --token CANARY \;`, `frob * --token CANARY`,
	`printf '%s' "API_KEY=CANARY" > .env`, `unset 'a[$(frob --token CANARY)]'`, `git push https://CANARYghp@git.dev/x`, `ls; API_KEY=CANARY`, `alias x='frob --token CANARY'`,
	`[[ -v 'x[$(frob --token=CANARY)]' ]]`, `source <(frob --token CANARY)`, `pass=CANARY`, `read -p "password=CANARY" x`, `terraform apply -var db_password=CANARY`,
}

// TestCanary searches for secrets in everything that a call's effects show to
// people and logs. The text that rules match keeps them, but is never shown.
func TestCanary(t *testing.T) {
	w := toolWorld(t)
	w.Table = effectstest.Table(t)
	titled := effectstest.SecretCommands()
	for i, text := range slices.Concat(titled, secretCommands) {
		text = strings.ReplaceAll(text, "CANARY", effectstest.Canary)
		input, err := json.Marshal(map[string]string{"command": text, "description": "use it"})
		if err != nil {
			t.Fatal(err)
		}
		c := agentCall("claude-code", "Bash", string(input))
		c.Claims.Title = text
		r := w.Effects(c)
		if len(r.Effects) == 0 {
			t.Errorf("%s: no effects", text)
		}
		shown := fmt.Sprint(r.Defects, r.Missing)
		for i := range r.Effects {
			shown += "\n" + r.Effects[i].Text + "\n" + r.Effects[i].Why
		}
		if i < len(titled) { // of the others, quotes that may be misread hold a shell's characters
			shown += "\n" + display.Display(text)
		}
		if strings.Contains(shown, effectstest.Canary) {
			t.Errorf("%s\nis shown as%s", text, shown)
		}
	}
}
