package display

import (
	"strings"
	"sync"

	"github.com/permd/permd/decisions/effects"
)

// secretLines are the options and operands of programs that take secrets although their
// names do not show it: curl -u, mysql -p, vault login. A line has a program, or several
// separated by |, the words that its command must contain, in this order, and where the
// secrets are:
//
//	-p --value -hmac  the value of an option, in the same word or the next one
//	-p!               only in the same word
//	-k.               only in the next word
//	-u: -U% -u,       only what follows the first colon, percent sign or comma of the value
//	-a~               what follows the first colon; all of it if there is none
//	@2                the operands from the second on, counted after the words
//	=                 the values of operands NAME=VALUE; with : and / of those NAME:VALUE and NAME/VALUE
//
// +b means that the command must have b among the letters of an option, and &-x that
// the option -x is one of the words.
var secretLines = []string{
	// What sends requests.
	"curl -b= -u: -U: --proxy-user: -E: --cert: --proxy-cert: --oauth2-bearer --pass --proxy-pass --tlspassword --proxy-tlspassword",
	"http|https|xh|xhs|httpie -a~",
	"ab|wrk -C=",
	"ab|wrk|hey|bombardier|vegeta -A: -a: -P:",
	"wscat|grpcurl|jenkins-cli|jenkins-cli.jar|nikto --auth: -auth: -id:",
	"lftp|ncftpput|ncftpget -u, -p",
	"smbclient|smbmap|rpcclient|net -U% --user%",
	"net user|use @2",
	"snmpwalk|snmpget|snmpset|snmpbulkwalk|snmptrap -c -A -X",
	"mosquitto_pub|mosquitto_sub|p4|ipmitool -P",
	"swaks|sendemail -ap -xp",
	"xfreerdp|wfreerdp|signtool|schtasks|cmdkey|rdesktop|plink|pscp|putty /p /rp /pass -pw -p",
	"svn|sshpass|rabbitmqadmin|hydra|evil-winrm|crackmapexec|netexec|nxc -p",
	// Databases.
	"mysql|mysqldump|mysqladmin|mysqlimport|mysqlshow|mariadb|mariadb-dump|mariadb-admin|mysqlsh|mysqlshell|7z|7za|7zz|7zr|rar|unrar|cqlsh|twine -p! -hp!",
	"mysqladmin password @1",
	"mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport|cypher-shell|couchbase-cli|cqlsh -p",
	"redis-cli|valkey-cli|keydb-cli -a",
	"redis-cli|valkey-cli|keydb-cli auth @1",
	"redis-cli|valkey-cli|keydb-cli config requirepass|masterauth @1",
	"sqlcmd|bcp -P",
	"influx -t",
	"rabbitmqctl add_user|change_password|authenticate_user @2",
	"ldapsearch|ldapadd|ldapmodify|ldapdelete|ldapwhoami|ldapcompare -w",
	"ldappasswd -w -s -a",
	// Files and keys.
	"openssl -k. -K. -hmac -macopt:",
	"openssl passwd @1",
	"htpasswd +b @3",
	"htpasswd +n @2",
	"mosquitto_passwd +b @3",
	"zip|unzip|zipcloak -P",
	"ssh-keygen -N -P",
	"pdftk user_pw|owner_pw @1",
	"qpdf &--encrypt @1",
	"security unlock-keychain|create-keychain|set-keychain-password|set-key-partition-list -p. -k. -o.",
	"security add-generic-password|add-internet-password|import|export -w. -p. -P.",
	"xcrun altool|notarytool|stapler -p",
	"wpa_passphrase @2",
	"nmcli password|wifi-sec.psk|802-11-wireless-security.psk @1",
	"networksetup &-setairportnetwork @3",
	"usermod|useradd -p",
	// Machines, clusters and clouds.
	"docker|podman|nerdctl|helm|oras|crane|skopeo|buildah|az|oc|npm|poetry|heroku|supabase login|publish|link|db|push -p",
	"kubectl|oc create secret --from-literal=",
	"az keyvault secret --value",
	"aws ssm put-parameter --value",
	"aws secretsmanager --secret-string --secret-binary",
	"gh|glab secret|variable set -b --body -v --value",
	"glab variable set @2",
	"gh|glab auth login --with-token -t",
	"fly|flyctl|doctl|vercel|netlify -t --auth",
	"fly|flyctl|doppler|heroku|supabase|railway secrets|config:set|variables =",
	"doppler secrets set @2",
	"vercel|now env add @3",
	"netlify env:set @2",
	"firebase functions:config:set =",
	"vault login|unseal|unwrap @1",
	"vault token lookup|revoke|renew @1",
	"ansible-vault encrypt_string @1",
	"codecov -t",
	"oathtool @1",
	"ykman oath accounts add|uri @2",
	"wpa_cli psk|password|sae_password|wep_key0|set_psk @1",
	"steam|steamcmd &+login @2",
	"lftp|wput|ncftp :",
	"adb pair @2",
	"gitlab-runner register -r",
	"act -s=",
	"mix hex.user key @1",
	"qmicli --dms-uim-verify-pin, --uim-verify-pin1,",
	"iwconfig|iw key @1",
	"sqlplus|rman|impdp|expdp|sqlldr /",
	"vault write|put|patch =",
	"bw unlock @1",
	"bw login @2",
	"bw|rbw --session",
	"pulumi config set @2",
	"rclone obscure @1",
	"rclone config create|update|password =",
	"mc|mcli alias|config set|add @3",
	"tailscale|headscale --authkey --auth-key",
	"ngrok|cloudflared authtoken|add-authtoken|add-api-key @1",
	// Registries and services.
	"cargo|wandb|hf|huggingface-cli login @1",
	"snyk auth @1",
	"gem push|yank -k --key",
	"poetry config http-basic.*|pypi-token.* @1",
	"composer config http-basic.*|github-oauth.*|gitlab-token.*|bearer.*|bitbucket-oauth.* @1",
	"bundle|bundler config :",
	"dotnet|nuget|choco push|setapikey -k",
	"nuget|choco push|setapikey @2",
	"openai -k",
	"kaggle|llm config|keys set -v --value",
	"jarsigner|keytool|osslsigncode -storepass -keypass -srcstorepass -deststorepass -new -pass",
}

// valueForm is which part of a value is secret.
type valueForm uint8

const (
	wholeValue    valueForm = 1 + iota
	attachedValue           // all of it, and only in the option's own word
	nextValue               // all of it, and only in the next word
	colonValue              // what follows the first colon
	percentValue            // what follows the first percent sign
	commaValue              // what follows the first comma
	literalValue            // what follows the first equals sign
	tailOrWhole             // what follows the first colon, or all of it
)

// forms are the characters that end an option of a line.
var forms = map[byte]valueForm{'!': attachedValue, '.': nextValue, ':': colonValue, '%': percentValue, ',': commaValue, '=': literalValue, '~': tailOrWhole}

// secretRule is one line of secretLines.
type secretRule struct {
	with     [][]string // alternatives of each word
	letter   byte       // that an option must have, 0 for none
	options  map[string]valueForm
	operands int // the first secret operand, 0 for none
	values   byte
}

// secretRules are the rules by program.
var secretRules = sync.OnceValue(func() map[string][]*secretRule {
	all := map[string][]*secretRule{}
	for _, line := range secretLines {
		fields := strings.Fields(line)
		rule := &secretRule{options: map[string]valueForm{}}
		for _, f := range fields[1:] {
			switch {
			case f == "=" || f == ":" || f == "/":
				rule.values = f[0]
			case f[0] == '@':
				rule.operands = int(f[1] - '0')
			case f[0] == '+':
				rule.letter = f[1]
			case f[0] == '&':
				rule.with = append(rule.with, []string{f[1:]})
			case f[0] == '-' || f[0] == '/':
				form := wholeValue
				if special, ok := forms[f[len(f)-1]]; ok {
					f, form = f[:len(f)-1], special
				}
				rule.options[f] = form
			default:
				rule.with = append(rule.with, strings.Split(f, "|"))
			}
		}
		for program := range strings.SplitSeq(fields[0], "|") {
			all[program] = append(all[program], rule)
		}
	}
	return all
})

// secretLetters are the one-letter options of secretRules.
var secretLetters = sync.OnceValue(func() *[256]bool {
	var letters [256]bool
	for _, rules := range secretRules() {
		for _, rule := range rules {
			for option := range rule.options {
				if len(option) == 2 && option[0] == '-' {
					letters[option[1]] = true
				}
			}
		}
	}
	return &letters
})

// programName returns the name by which secretRules has a program.
func programName(word string) string {
	word = word[strings.LastIndexByte(word, '/')+1:]
	word = word[strings.IndexByte(word, '=')+1:] // ProxyCommand=sshpass, m=mysql
	return strings.TrimSuffix(word, ".exe")
}

// Bounds of what is examined of one command, in words.
const (
	maxProgramWords = 12  // in which the program's name must be
	maxSecretWords  = 512 // of which secrets are found
)

// literals returns the texts of words, in memory of c. Those that are not known before they
// run are "".
func (c *commands) literals(words []effects.Word) []string {
	list := c.levels[0][0].texts[:0]
	for i := range words[:min(len(words), maxSecretWords)] {
		text := ""
		if w := &words[i]; !w.Dynamic() && !w.Glob && !w.Tree {
			text = w.Text
		}
		list = append(list, text)
	}
	c.levels[0][0].texts = list
	return list
}
