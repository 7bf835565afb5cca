package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/policy/settings"
)

const configPage = "../../docs/config.md"

// settingKeys are the keys of permd.toml, from the type that it is read into.
func settingKeys(t reflect.Type, prefix string) []string {
	var keys []string
	for f := range t.Fields() {
		key := prefix + f.Tag.Get("toml")
		if f.Tag.Get("toml") == "-" {
			continue
		}
		keys = append(keys, key)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, settingKeys(f.Type, key+".")...)
		}
	}
	return keys
}

func readPage(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestConfigPage: the page names each key in code type, its example is one that
// permd reads, with every key in it, and the first configuration has them all.
func TestConfigPage(t *testing.T) {
	t.Parallel()
	page := readPage(t, configPage)
	toml := regexp.MustCompile("(?s)```toml\n(.*?)```").FindStringSubmatch(page)
	if toml == nil {
		t.Fatal("there is no example")
	}
	example, err := settings.Parse(configPage, []byte(toml[1]))
	if err != nil {
		t.Error(err)
	}
	var unset func(v reflect.Value, prefix string)
	unset = func(v reflect.Value, prefix string) {
		for f, value := range v.Fields() {
			key := prefix + f.Tag.Get("toml")
			if value.IsZero() && f.Tag.Get("toml") != "-" {
				t.Errorf("the example does not set %s", key)
			}
			if f.Type.Kind() == reflect.Struct {
				unset(value, key+".")
			}
		}
	}
	unset(reflect.ValueOf(example), "")
	first := readPage(t, "initial/"+account.SettingsName)
	for _, key := range settingKeys(reflect.TypeFor[settings.Settings](), "") {
		if !strings.Contains(page, "### `"+key+"`\n") && !strings.Contains(page, "\n| `"+key+"` |") {
			t.Errorf("%s does not describe the key %s", configPage, key)
		}
		name := key[strings.LastIndexByte(key, '.')+1:]
		if !strings.Contains(first, "\n#"+name+" = ") && !strings.Contains(first, "\n["+name+"]\n") {
			t.Errorf("the first %s lacks the key %s", account.SettingsName, key)
		}
	}
}

// TestInitialSettings: the file that permd init writes sets nothing, and if it were
// uncommented, it would set the defaults.
func TestInitialSettings(t *testing.T) {
	t.Parallel()
	first := readPage(t, "initial/"+account.SettingsName)
	initial, err := settings.Parse(account.SettingsName, []byte(first))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings.Settings{}, initial); diff != "" {
		t.Errorf("it sets (-want +got):\n%s", diff)
	}
	all := regexp.MustCompile(`(?m)^#([a-z_]+ = )`).ReplaceAllString(first, "$1")
	if initial, err = settings.Parse(account.SettingsName, []byte(all)); err != nil {
		t.Fatal(err)
	}
	got, err := settings.Merge(initial, settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := settings.Merge(settings.Settings{Disable: []string{}}, settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("uncommented, it says (-want +got):\n%s", diff)
	}
}

// TestConfigPageVariables: the page names each variable of permd's and of the
// XDG specification that the program's text names.
func TestConfigPageVariables(t *testing.T) {
	t.Parallel()
	page := readPage(t, configPage)
	name := regexp.MustCompile(`"((?:PERMD|XDG)_[A-Z_]+)"`)
	const ofTests = "PERMD_TEST_" // read by packages for tests
	found := map[string]string{}
	for _, dir := range []string{"../../cmd", "../../internal", "../../socket", "../../policy", "../../remember", "../../decisions"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "heads" {
				return err // heads has fields of the system's journal, which look alike
			}
			for _, m := range name.FindAllStringSubmatch(readPage(t, path), -1) {
				if strings.HasPrefix(m[1], ofTests) {
					continue
				}
				found[m[1]] = path
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found["PERMD_SOCKET"] == "" || found["XDG_RUNTIME_DIR"] == "" {
		t.Fatalf("the variables found are %v", found)
	}
	for v, where := range found {
		if !strings.Contains(page, "| `"+v+"` |") {
			t.Errorf("%s does not describe %s, which %s names", configPage, v, where)
		}
	}
}
