package programs

import "testing"

func TestObeyedFilesOfTheTable(t *testing.T) {
	for text, ok := range map[string]bool{
		`["a.toml", "b/c = s", "~/x"]`: true,
		`["b/c: x y"]`:                 true, // as written for permd before it read settings
		`["/etc/x"]`:                   false,
		`["../x"]`:                     false,
		`["a = none"]`:                 false,
		`["a: "]`:                      true,
		`[": x"]`:                      false,
		`["a b"]`:                      false,
		`["*/a", "*/b/c = s"]`:         true,
		`["*/"]`:                       false,
		`["*/."]`:                      false,
		`["*/~/a"]`:                    false,
		`["*/../a"]`:                   false,
		`["*/.git = s"]`:               true,
		`["*/.git"]`:                   false,
		`["a*"]`:                       false,
		`[".git"]`:                     false,
		`["~/x = s"]`:                  false,
		`[]`:                           true,
		`[.]`:                          true,
		`[". = s"]`:                    false,
		`["$NAME", "$HEAD_*"]`:         true,
		`["$NAME = s"]`:                false,
		`["$"]`:                        false,
		`["$A B"]`:                     false,
	} {
		_, err := ParseTable(map[string][]byte{"x.yaml": []byte("settings:\n  - {name: s, format: ini}\nprograms:\n  - names: [x]\n    obeys: " + text + "\n")})
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSettingsOfTheTable(t *testing.T) {
	for text, ok := range map[string]bool{
		"{name: s, format: toml, harmless: [a.b, 'c: word', 'd=1']}": true,
		"{name: s, format: hcl}":                                     false,
		"{name: s, format: toml, harmless: ['a: age']}":              false,
		"{name: s, format: toml, harmless: ['a b']}":                 false,
		"{name: s, format: gomod, harmless: [a]}":                    false,
	} {
		_, err := ParseTable(map[string][]byte{"x.yaml": []byte("settings:\n  - " + text + "\n")})
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseTable(map[string][]byte{"x.yaml": []byte("settings:\n  - {name: s, format: ini}\n  - {name: s, format: ini}\n")}); err == nil {
		t.Error("settings that are described twice are taken")
	}
}
