package importing

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/policy/imports"
)

// importPlaces are the usual places of a tool's settings: of the person, then of
// a project. Agents must not write them: a test wants each to be guarded.
func importPlaces(tool imports.Tool, home, project string) []string {
	return placesOn(runtime.GOOS, tool, home, project)
}

func placesOn(goos string, tool imports.Tool, home, project string) []string {
	var list []string
	add := func(root string, names ...string) {
		for _, n := range names {
			if root != "" {
				list = append(list, filepath.Join(root, n))
			}
		}
	}
	switch tool {
	case imports.Claude:
		add(home, ".claude/settings.json", ".claude/settings.local.json")
		add(project, ".claude/settings.json", ".claude/settings.local.json")
	case imports.Codex:
		add(home, ".codex/config.toml", ".codex/rules/*.rules")
		add(project, ".codex/config.toml", ".codex/rules/*.rules")
	case imports.Gemini:
		add(home, ".gemini/settings.json", ".gemini/policies/*.toml")
		add(project, ".gemini/settings.json", ".gemini/policies/*.toml")
	case imports.OpenCode:
		add(home, ".config/opencode/opencode.json", ".config/opencode/opencode.jsonc", ".config/opencode/agents/*.md", ".config/opencode/agent/*.md")
		add(project, "opencode.json", "opencode.jsonc", ".opencode/agents/*.md", ".opencode/agent/*.md")
	case imports.Zed:
		add(home, ".config/zed/settings.json")
		add(project, ".zed/settings.json")
	case imports.VSCode:
		if goos == "darwin" {
			add(home, "Library/Application Support/Code/User/settings.json")
		} else {
			add(home, ".config/Code/User/settings.json")
		}
		add(project, ".vscode/settings.json")
	}
	return list
}

// importFiles reads the named files and folders, or the usual places.
func importFiles(tool imports.Tool, named []string, home string) (files []imports.File, absent []string, err error) {
	var names []string
	look := func(places []string) error {
		for _, p := range places {
			found, err := filepath.Glob(p)
			if err != nil {
				return fmt.Errorf("looking for settings: %w", err)
			}
			if len(found) == 0 {
				absent = append(absent, p)
			}
			for _, f := range found {
				if !slices.Contains(names, f) {
					names = append(names, f)
				}
			}
		}
		return nil
	}
	if len(named) == 0 {
		cwd, err := os.Getwd()
		if err != nil {
			return nil, nil, fmt.Errorf("finding the working directory: %w", err)
		}
		if err := look(importPlaces(tool, home, paths.FindProject(paths.OSFS{}, cwd, home))); err != nil {
			return nil, nil, err
		}
	}
	for _, n := range named {
		abs, err := filepath.Abs(n)
		if err != nil {
			return nil, nil, fmt.Errorf("finding %s: %w", n, err)
		}
		info, err := os.Stat(abs)
		if err != nil {
			return nil, nil, fmt.Errorf("opening settings: %w", err)
		}
		if !info.IsDir() {
			names = append(names, abs)
			continue
		}
		// A folder is a project, or the folder of the tool in one.
		before := len(names)
		for _, root := range []string{abs, filepath.Dir(abs)} {
			if len(names) == before {
				if err := look(importPlaces(tool, "", root)); err != nil {
					return nil, nil, err
				}
			}
		}
		if len(names) == before && abs == home {
			if err := look(importPlaces(tool, home, "")); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, n := range names {
		// A project is known by where it lies, whatever links lead there.
		if real, err := filepath.EvalSymlinks(filepath.Dir(n)); err == nil {
			n = filepath.Join(real, filepath.Base(n))
		}
		data, err := readSome(n)
		if err != nil {
			return nil, nil, fmt.Errorf("reading settings: %w", err)
		}
		files = append(files, imports.File{Name: n, Data: data})
	}
	return files, absent, nil
}

// maxImportedSize is as much as is read of a settings file, in bytes.
const maxImportedSize = 5 << 20

func readSome(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxImportedSize))
}
