package shell

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/effectstest"
)

func TestMaskNames(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"header", `curl -H "X-Api-Key: CANARY" https://a.dev`, `curl -H "X-Api-Key: ***" https://a.dev`},
		{"header in single quotes", `curl -H 'PRIVATE-TOKEN: CANARY' x`, `curl -H 'PRIVATE-TOKEN: ***' x`},
		{"header without quotes", `curl -H X-Auth-Token:CANARY x`, `curl -H X-Auth-Token:*** x`},
		{"session header", `-H "X-Session-Id: CANARY"`, `-H "X-Session-Id: ***"`},
		{"cookie", `curl -H "Cookie: sid=CANARY; b=CANARY" x`, `curl -H "Cookie: ***; b=***" x`},
		{"authorization with a scheme of its own", `-H "Authorization: Custom CANARY"`, `-H "Authorization: *** CANARY"`},
		{"authorization bare", `-H "Authorization: CANARY"`, `-H "Authorization: ***"`},
		{"authorization with a short token", `-H "Authorization: Bearer a1"`, `-H "Authorization: Bearer ***"`},
		{"proxy", `-H "Proxy-Authorization: Basic CANARY"`, `-H "Proxy-Authorization: Basic ***"`},
		{"option", "frob login --token CANARY now", "frob login --token *** now"},
		{"option with equals", "x --password=CANARY y", "x --password=*** y"},
		{"option in camel case", "x --clientSecret CANARY", "x --clientSecret ***"},
		{"option with one dash", "x -password CANARY", "x -password ***"},
		{"option with quotes", "x --password 'correct horse battery' y", "x --password '*** *** ***' y"},
		{"option with a reference", `x --password "$PW" --token $(pass show a)`, `x --password "$PW" --token $(pass show a)`},
		{"curl's user", "curl -u ana:CANARY https://a.dev", "curl -u ana:*** https://a.dev"},
		{"curl's user attached", "curl -uana:CANARY https://a.dev", "curl -uana:*** https://a.dev"},
		{"curl's long user", "curl --user 'ana:CANARY' x", "curl --user 'ana:***' x"},
		{"curl's user of digits", "curl -u 1000:2000 https://a.dev", "curl -u 1000:*** https://a.dev"},
		{"mysql", "mysql -u root -pCANARY shop", "mysql -u root -p*** shop"},
		{"mariadb by path", "/usr/bin/mariadb -pCANARY shop", "/usr/bin/mariadb -p*** shop"},
		{"sshpass", "sshpass -p CANARY ssh host", "sshpass -p *** ssh host"},
		{"sshpass attached", "sshpass -pCANARY ssh host", "sshpass -p*** ssh host"},
		{"docker login", "docker login -u ana -p CANARY r.dev", "docker login -u ana -p *** r.dev"},
		{"redis", "redis-cli -h h -a CANARY ping", "redis-cli -h h -a *** ping"},
		{"openssl", "openssl rsa -passin pass:CANARY", "openssl rsa -passin pass:***"},
		{"query", "curl 'https://a.dev/x?a=1&access_token=CANARY&b=2'", "curl 'https://a.dev/x?a=1&access_token=***&b=2'"},
		{"query key", "https://a.dev/?key=CANARY", "https://a.dev/?key=***"},
		{"query signature", "https://a.dev/?sig=CANARY%3D", "https://a.dev/?sig=***"},
		{"export", "export API_KEY=CANARY", "export API_KEY=***"},
		{"assignment", "FOO_SECRET=CANARY make test", "FOO_SECRET=*** make test"},
		{"assignment in quotes", `DB_PASS="CANARY x" y`, `DB_PASS="*** ***" y`},
		{"run-together", "PGPASSWORD=CANARY psql", "PGPASSWORD=*** psql"},
		{"with slashes", "AWS_SECRET_ACCESS_KEY=CANARY/K7/CANARY ls", "AWS_SECRET_ACCESS_KEY=***/***/*** ls"},
		{"connection string", "psql postgres://ana:CANARY@db.dev/shop", "psql postgres://***@db.dev/shop"},
		{"json", `curl -d '{"user":"ana","password":"CANARY"}' x`, `curl -d '{"user":"ana","password":"***"}' x`},
		{"json with blanks", `{"apiKey": "CANARY", "b": 1}`, `{"apiKey": "***", "b": 1}`},
		{"json escaped", `"{\"password\":\"CANARY\"}"`, `"{\"password\":\"***\"}"`},
		{"npmrc", "//r.dev/:_authToken=CANARY", "//r.dev/:_authToken=***"},
		{"settings", `password = "CANARY"`, `password = "***"`},
		{"yaml", "password: CANARY", "password: ***"},
		{"behind a separator only its value", "TOKEN=CANARY;rm -rf /", "TOKEN=***;rm -rf /"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := strings.ReplaceAll(tt.in, "CANARY", effectstest.Canary)
			want := strings.ReplaceAll(tt.want, "CANARY", effectstest.Canary)
			if got := display.Display(in); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// TestMaskSparesTheHarmless has texts that must be shown as they are: a person
// who cannot read a command cannot decide on it.
func TestMaskSparesTheHarmless(t *testing.T) {
	for _, in := range []string{
		"curl --key-file path/to/key.pem --cert c.pem x", "openssl rsa -in key.pem", "KEYCLOAK=up docker compose up", "monkey=banana",
		"--author=ana", "author=ana", "git commit --author 'Ana <ana@a.dev>'", "max_tokens=4096", "TOKENIZERS_PARALLELISM=false",
		"PWD=/home/ana OLDPWD=x", "sort --key=2,3 a.txt", "sort -k 2", "--primary-key id", "CACHE_KEY=v1", "key: value", "key=value",
		"TOKEN_FILE=run/secrets/t", "PASSWORD_STORE_DIR=x", "--password-stdin x", "docker login --password-stdin r.dev",
		"--no-password x", "git commit -m 'token: refresh it earlier'", `git commit -m "auth: fix the login"`, "fix(auth): x",
		"docker run -u 1000:1000 -p 8080:80 x", "frob --user 1000:1000", "docker run --user root:root x", "docker run -p 8080:80 img login-x", "ssh -p 2222 host", "mkdir -p a/b", "cp -pr a b",
		"mysql -p shop", "SSH_AUTH_SOCK=run/x", "XDG_SESSION_TYPE=wayland", "TOKEN=/run/secrets/token", "--token $TOKEN", `TOKEN="$X"`,
		"TOKEN=$(cat t)", "if [ x == y ]; then a; fi", `grep -rn "token=" src tests`, `grep -n 'password:' a.txt`, "git config user.signingkey x", "--session-name x",
		"sessions=3", "kubectl get secret db-pass", "gh secret list", "git log --format=%H:%an", "a ? b : c", "npm run auth:test", "tmux new-session -s work",
		"python -m secrets", "sk: x", "--api-key-file a", "cookie=no", "bypass=1x", "compass=n", "https://a.dev/auth/login?next=x", "const key = 'abc'",
		"sort -k2,2 -t= a.txt", "sort --key=1.3 b", "git log --author=key --grep=token", "docker run -p 127.0.0.1:8080:80 -u node img", "sudo -u app mkdir -p a/b",
		"ps -u root -p 123", "psql -U postgres -p 5432 shop", "ssh -l ana -p 22 h", "npm install jwt==1.2.3", "pip install password-lib==2.*", "pip install token==0.1",
		"npm install npm:foo@1.2.3", "docker pull img:tag@sha256:0123456789abcdef", "git clone git@host.dev:o/r", "scp a.txt host:b", "rsync -av a host.dev:b",
		"openssl req -newkey rsa:2048 -keyout a.key -out b.csr", "openssl enc -d -in a", "htpasswd -c f u", "grep -rn password 'src dir'", "rg -n token src", "cat password.txt",
		"gh secret set NAME < f", "kubectl get secret app-tls-2 -o yaml", "aws secretsmanager delete-secret --secret-id db", "az vm list -l eastus -p x",
		"git config user.email a@b.dev", "git config --global core.editor vim", "npm config set registry https://r.dev", "kubectl label pod a label_key=x", "hf auth login",
		"tar -xpf a.tar", "cp -rp a b", "echo key=value", "jq -r .key a.json", "jq --arg name x .", "mysqldump --no-tablespaces shop", "zip -r a.zip b", "7z x a.7z",
		"make -C key", "go test -run TestKey -p 4 ./...", "curl -o out -H 'Accept: application/json' https://a.dev/token", "curl -b jar.txt https://a.dev", "wget --auth-no-challenge https://a.dev",
		"ffmpeg -pass 2 a", `git commit -m "fix: session.go:158 mu"`, `echo "agent_session.go:158 mu"`, "tool --pwd '/home/ana/a b'", "GIT_CONFIG_KEY_0=core.fsmonitor git status",
		"redis-cli get key1", "vault status", "docker login r.dev", "docker push -q img", "cargo test --key", "pytest -k auth_flow", "ls -la | sort -k5", "node --version", "sudo -S true",
		"echo hello | docker build -", "echo a | sort -u", "printf x | tee y", "--secret id=npm,src=.npmrc", "password=", `password=""`, `[ "$TOKEN" = "" ]`, `[ "$TOKEN_FILE" = a1b2c3 ]`, `[ "$TOKEN" = "$OTHER" ]`, `test "$MODE" == fast`, "echo hello > notes.txt", "echo done > out/tokens.md", "diff <(echo a) <(echo b)",
		`x(["token", "user", "name"])`, `f("NAME", "ana")`, "FOO_PATTERN=x make", "https://hooks.slack.com/help/services", "frob <token> <file>", "MODE+=x", "FLAGS=(-a -b)", "while read -r line; do a; done", "yes | rm -i a", "git log --format='<token>%h'",
		"a.pattern[0]=1", "opts[key]=1", "sqlplus -v", "iw dev wlan0 link", "echo $((a == b))", `if (token == other) x`, "codecov -f a.xml", "awk -F: '{print $1}' key.txt", "echo 'a'b: x", "--x-token", "--token --verbose",
		"echo hello | grep su", `printf 'GET / HTTP/1.0\r\n\r\n' | nc h 80`, `printf 'PING\r\n' | nc h 6379`, "echo 'SET key value' | redis-cli", "echo 'INFO memory' | redis-cli", "redis-cli <<< 'GET a'",
		"frob --exit-code 12345", "STATUS_CODE=404", "frob --country-code de", "--zip-code 12345", "errorCode=12345", "train --random-seed 12345", "SEED=12345", "PYTHONHASHSEED=123", "board --pin 13", "PIN_COUNT=300",
		"salt '*' test.ping", "salt-call state.apply web", `expect -c 'spawn ssh h; expect "\$ "; send "ls -la\r"'`, "aws configure set mfa_serial arn:aws:iam::1:mfa/ana", "mfa_serial=arn", "frob --mfa-device x", "frob --enable-mfa now",
		"code --install-extension a.b", "echo x | tee out.txt | sort", "echo a | cat | sort", "echo done | sudo tee /var/log/x", "kinit ana@REALM", "ssh-add -l", "adb pair h:37000", "send mail.txt", "steam +app_update 740",
		"access_log=x", "backup_time=1234", "login_url=x", "wallet=main", "lftp https://h.dev/a:b", "act -s", "nc -zv h 443", "echo 'USER ana' | nc h 21", "su ana", "curl -K curl.conf https://a.dev",
	} {
		if got := display.Display(in); got != in {
			t.Errorf("shown as %q\nwant     %q", got, in)
		}
	}
}

// TestMaskHidesNoCommand has texts in which a careless masker would hide what a
// shell runs.
func TestMaskHidesNoCommand(t *testing.T) {
	for _, in := range []string{
		`echo "a"password": "; REBOOT now; echo "`, `echo 'x --password '; REBOOT y; echo '`, "token=x;REBOOT", "token=x&&REBOOT", "token=x|REBOOT",
		"token=$(REBOOT)", "token=`REBOOT`", "--token $(REBOOT)", `--password "$(REBOOT)"`, `--password "x$(REBOOT)"`, "password:\nREBOOT", "--token\nREBOOT", "--password '\nREBOOT\n'",
		"TOKEN=x REBOOT", `curl -H "Cookie: a=b; c=d" ; REBOOT`, "curl -u a:b|REBOOT", "mysql -px;REBOOT", "pass:x;REBOOT", "token=<(REBOOT)", "Authorization: Basic\nREBOOT",
		`TOKEN="a b";REBOOT "c d"`, `TOKEN='a;REBOOT;b'`,
		"PIN=x;REBOOT", "echo AUTH x;REBOOT | nc h 1", "echo AUTH $(REBOOT) | nc h 1", `echo "AUTH $(REBOOT)" | nc h 1`, `expect -c 'send "a1b2c3d4;REBOOT"'`, "echo a | tee token;REBOOT", "echo 'a;REBOOT' | nc h 1; x",
		"printf 'AUTH x\nREBOOT' | nc h 1", "su <<< x;REBOOT", "echo a | base64 | REBOOT | su", "--mfa-code x;REBOOT",
	} {
		if got := display.Display(in); !strings.Contains(got, "REBOOT") {
			t.Errorf("%q is shown as %q", in, got)
		}
	}
}

// TestShowWordsMasksWholeWords has secrets with characters that only the words
// of a command can tell from its syntax.
func TestShowWordsMasksWholeWords(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`tool --password 'p;a b$c'`, `run tool --password '***;*** ***$***'`},
		{`curl -H 'Cookie: a=1; b=2' https://a.dev`, `run curl -H 'Cookie: ***; ***' https://a.dev`},
		{`curl -H "Authorization: Bearer a b" https://a.dev`, `run curl -H 'Authorization: Bearer *** ***' https://a.dev`},
		{`curl -u 'ana:a b;c' https://a.dev`, `run curl -u 'ana:*** ***;***' https://a.dev`},
		{`mysql '-pa b' shop`, `run mysql '-p*** ***' shop`},
		{`tool --key-file 'a b' -m 'token: x'`, `run tool --key-file 'a b' -m 'token: x'`},
	} {
		b := shellBuilder(effectstest.Table(t), effectstest.Files())
		Text(b, tt.in, effectstest.Cwd, "command")
		if got := b.Effects[0].Text; got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
}
