package display

import (
	"slices"
	"strings"
	"sync"

	"github.com/permd/permd/internal/wordset"
)

// What a command is given on its standard input may be a secret, too: the text that echo
// or printf print into it, or a here-string.

// stdinLines are programs that read a secret from their standard input, with the words
// that their command must contain. Options such as --password-stdin are known by their
// names.
var stdinLines = []string{
	"chpasswd", "sudo -S", "passwd", "smbpasswd -s", "pass insert", "gopass insert", "secret-tool store", "cryptsetup",
	"wrangler secret", "gh secret set", "gh auth login", "glab auth login", "vercel env add", "openssl passwd", "htpasswd -i",
	"gcloud secrets", "codex login", "keyring set", "wg set", "openvpn --auth-user-pass", "docker secret create", "podman secret create", "systemd-creds encrypt", "kubeseal", "vault login", "age-keygen", "wg pubkey",
	"su", "sshpass", "kinit", "ssh-add", "age -i", "bw unlock", "bw login", "rbw unlock", "op signin", "curl -K -", "curl --config -",
	"ansible-vault encrypt_string", "doppler secrets", "fly secrets", "flyctl secrets", "heroku config:set", "kubectl create secret", "oc create secret",
	"gcloud auth", "ldapsearch -y", "ldapmodify -y", "ldapadd -y",
}

var stdinRules = sync.OnceValue(func() map[string][][]string {
	all := map[string][][]string{}
	for _, line := range stdinLines {
		fields := strings.Fields(line)
		all[fields[0]] = append(all[fields[0]], fields[1:])
	}
	return all
})

// readsSecret reports whether a command reads a secret from its standard input.
func readsSecret(words []string) bool {
	if len(words) > 1 && words[0] == "read" && secretName(words[len(words)-1], nameOfVariable) {
		return true
	}
	for i, w := range words {
		if i > 0 && strings.HasPrefix(w, "--") && stdinOption(w) {
			return true
		}
		if i > 0 && inputFile(words, i) || w == "tee" && slices.ContainsFunc(words[i+1:], secretFile) {
			return true
		}
		if i >= maxProgramWords || w == "su" && i > 0 && !leads.Has(words[i-1]) {
			continue
		}
		for _, with := range stdinRules()[programName(w)] {
			rest := words[i+1:]
			for len(with) > 0 && len(rest) > 0 {
				if rest[0] == with[0] {
					with = with[1:]
				}
				rest = rest[1:]
			}
			if len(with) == 0 {
				return true
			}
		}
	}
	return false
}

// leads are programs before another one. Elsewhere su is as often a word of something else.
var leads = wordset.Of("sudo", "doas", "env", "nohup", "exec", "command")

// stdinOption reports whether an option says that a secret comes from a descriptor:
// --password-stdin, --passphrase-fd.
func stdinOption(option string) bool {
	cut := strings.LastIndexByte(option, '-')
	switch strings.TrimRight(option[cut+1:], "=0123456789") {
	case "stdin", "fd":
		return secretName(option[:cut], nameOfOption)
	}
	return option == "--with-token"
}

// Prints reports whether a program prints its words.
func Prints(program string) bool { return program == "echo" || program == "printf" || program == "yes" }

// printedWords returns the index of the first word that echo and the like print; 0 for other
// programs.
func printedWords(words []string) int {
	if len(words) == 0 {
		return 0
	}
	if !Prints(programName(words[0])) {
		return 0
	}
	i := 1
	for i < len(words) && strings.HasPrefix(words[i], "-") {
		i++
	}
	return i
}

// secretFiles are names of files that hold secrets and do not say so.
var secretFiles = wordset.Of(".netrc", "_netrc", ".pgpass", ".htpasswd", ".my.cnf", ".git-credentials", ".s3cfg")

// secretFile reports whether a file holds a secret, by its name: token.txt, .vault_pass.
func secretFile(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if secretFiles.Has(name) {
		return true
	}
	name = strings.TrimLeft(name, ".")
	if dot := strings.IndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	return secretName(name, nameOfMember)
}

// PipedSecrets returns the words of a command's text that another command reads as a
// secret, or that are written to a file of secrets. They can be shown with the program that
// prints them, which does not know that.
func PipedSecrets(text string) []string {
	if !strings.ContainsAny(text, "|<>") || !strings.Contains(text, "echo") && !strings.Contains(text, "printf") && !strings.Contains(text, "yes") {
		return nil
	}
	var found []string
	c := newCommands()
	defer c.release()
	c.piped = &found
	c.find(text, 0, 0)
	return found
}
