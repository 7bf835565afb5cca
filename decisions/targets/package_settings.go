package targets

import (
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/internal/wordset"
)

var (
	// pipKeys are the settings of pip.conf that name no code.
	pipKeys = wordset.Fields(`
		timeout default-timeout retries disable-pip-version-check no-input no-color quiet verbose progress-bar require-virtualenv break-system-packages
		user no-cache-dir no-compile prefer-binary pre upgrade-strategy only-binary no-binary no-warn-script-location root-user-action trusted-host proxy cert client-cert
	`)
	// uvKeys are those of uv.toml, and of the table tool.uv of pyproject.toml.
	uvKeys = wordset.Fields(`
		dev-dependencies default-groups package managed required-version environments required-environments conflicts resolution prerelease fork-strategy
		index-strategy exclude-newer link-mode native-tls offline no-cache compile-bytecode concurrent-downloads concurrent-builds concurrent-installs
		python-preference python-downloads keyring-provider require-hashes verify-hashes strict system break-system-packages generate-hashes no-build only-binary no-binary
		upgrade reinstall python-version python-platform
	`)
	uvIndexKeys = wordset.Fields("name url default explicit authenticate")
	pipSection  = lazy.Regexp(`^\[[a-z-]+\]$`)
	pipSetting  = lazy.Regexp(`^([a-z-]+)[ \t]*=[ \t]*(.*)$`)
)

// maxPipSettings bounds a file of settings in TOML, in bytes.
const maxPipSettings = 64 << 10

// plainPipSettings reports whether a file of settings that a run of pip or uv obeys names nothing that holds packages,
// but indexes on the network. Each program obeys only its own.
func plainPipSettings(program, file string, text []byte) bool {
	if isPip := path.Ext(file) == ".conf"; isPip || program != "uv" {
		return !isPip || program == "uv" || plainPipConf(string(text))
	}
	if len(text) > maxPipSettings {
		return false
	}
	var all map[string]any
	if _, err := toml.Decode(string(text), &all); err != nil {
		return false
	}
	if path.Base(file) == "pyproject.toml" {
		tool, isTable := all["tool"].(map[string]any)
		if all["tool"] != nil && !isTable {
			return false
		}
		all, isTable = tool["uv"].(map[string]any)
		if tool["uv"] != nil && !isTable {
			return false
		}
	}
	return plainUV(all)
}

func plainPipConf(text string) bool {
	urls := false
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = strings.TrimSuffix(line, "\n")
		trimmed := strings.Trim(line, " \t")
		key := pipSetting().FindStringSubmatch(line)
		switch {
		case strings.ContainsFunc(line, func(c rune) bool { return (c < ' ' && c != '\t') || c > '~' }):
			return false
		case trimmed == "" || line[0] == '#' || line[0] == ';':
		case pipSection().MatchString(line):
			urls = false
		case strings.Trim(line[:1], " \t") == "": // more of the value before
			if !urls || !areIndexes(trimmed) {
				return false
			}
		case key == nil:
			return false
		case key[1] == "index-url" || key[1] == "extra-index-url":
			if urls = true; !areIndexes(key[2]) {
				return false
			}
		case pipKeys.Has(key[1]):
			urls = false
		default:
			return false
		}
	}
	return true
}

// areIndexes reports whether all words are URLs of indexes on the network.
func areIndexes(words string) bool {
	return !slices.ContainsFunc(strings.Fields(words), func(w string) bool { return !indexURL().MatchString(w) })
}

func plainUV(table map[string]any) bool {
	for key, value := range table {
		switch key {
		case "index-url", "extra-index-url":
			if !isIndex(value) {
				return false
			}
		case "index":
			list, ok := value.([]map[string]any)
			if !ok {
				return false
			}
			for _, index := range list {
				for name := range index {
					if !uvIndexKeys.Has(name) || !isIndex(index["url"]) {
						return false
					}
				}
			}
		case "pip":
			if below, ok := value.(map[string]any); !ok || !plainUV(below) {
				return false
			}
		default:
			if !uvKeys.Has(key) {
				return false
			}
		}
	}
	return true
}

// isIndex reports whether a value is the URL of an index on the network, or a list of such.
func isIndex(value any) bool {
	if list, ok := value.([]any); ok {
		return !slices.ContainsFunc(list, func(v any) bool { return !isIndex(v) })
	}
	url, ok := value.(string)
	return ok && indexURL().MatchString(url)
}
