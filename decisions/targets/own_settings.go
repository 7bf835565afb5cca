package targets

import (
	"path"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// ownSettings returns what the person's own settings say to a package manager: with which shell
// and which options it runs scripts (script-shell, node-options), and where packages are. Tokens
// of registries change with each login and are no such settings.
func (rd *reading) ownSettings() (all []byte) {
	for _, file := range ownSettingsFiles(rd.run.Program, rd.person) {
		text, there := rd.read(file)
		if !there {
			continue
		}
		if name := path.Base(file); name == ".npmrc" || name == "npmrc" || name == "rc" {
			text = withoutCredentials(text)
		}
		if len(text) > 0 {
			all = appendFile(all, file, text, true)
		}
	}
	return all
}

// ownSettingsFiles returns the files of the person that a package manager obeys.
func ownSettingsFiles(program string, person *effects.User) (files []string) {
	if person == nil || !path.IsAbs(person.Home) {
		return nil
	}
	config := configFolders(person)
	add := func(dirs []string, names ...string) {
		for _, dir := range dirs {
			for _, name := range names {
				files = append(files, path.Join(dir, name))
			}
		}
	}
	home := []string{person.Home}
	switch program {
	case "npm", "pnpm", "yarn", "bun":
		add(home, ".npmrc")
		add(config, "npm/npmrc")
	}
	switch program {
	case "pnpm":
		add(config, "pnpm/rc", "pnpm/config.yaml")
		add(home, "Library/Preferences/pnpm/rc", "Library/Preferences/pnpm/config.yaml")
	case "yarn":
		add(home, ".yarnrc", ".yarnrc.yml")
	case "bun":
		add(home, ".bunfig.toml")
		add(config, ".bunfig.toml")
	}
	return files
}

// configFolders returns the folders of settings in the home of a person: some processes may have another
// one for it than others.
func configFolders(person *effects.User) []string {
	config := []string{path.Join(person.Home, ".config")}
	if dir := person.Env["XDG_CONFIG_HOME"]; path.IsAbs(dir) && path.Clean(dir) != config[0] {
		config = append(config, path.Clean(dir))
	}
	return config
}

// withoutCredentials returns the lines of an .npmrc that set something other than the
// credentials of a registry.
func withoutCredentials(text []byte) (rest []byte) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line[0] == '#', line[0] == ';':
		case strings.HasPrefix(line, "//") && !strings.Contains(line, "tokenHelper"):
		default:
			rest = append(append(rest, line...), '\n')
		}
	}
	return rest
}
