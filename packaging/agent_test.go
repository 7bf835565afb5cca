package packaging

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket/systemd"
)

func macAgent(program string) *Agent {
	return &Agent{Program: program, DecisionSocket: "/Users/ana/run/permd.sock", AdminSocket: "/Users/ana/run-admin/admin.sock", Log: "/Users/ana/permd.log"}
}

// value reads one value of a property list: a map, a list, a string or a number.
func value(t *testing.T, d *xml.Decoder, at *xml.StartElement) any {
	t.Helper()
	var text strings.Builder
	values := []any{}
	var names []string
	for {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			v := value(t, d, &token)
			if token.Name.Local == "key" {
				names = append(names, v.(string))
			} else {
				values = append(values, v)
			}
		case xml.EndElement:
			switch at.Name.Local {
			case "dict":
				if len(names) != len(values) {
					t.Fatalf("keys %q have %d values", names, len(values))
				}
				dict := map[string]any{}
				for i, name := range names {
					if _, twice := dict[name]; twice {
						t.Errorf("the key %s is there twice", name)
					}
					dict[name] = values[i]
				}
				return dict
			case "array", "plist":
				return values
			case "key", "string":
				return text.String()
			case "integer":
				n, err := strconv.Atoi(text.String())
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			t.Fatalf("there is an element %s", at.Name.Local)
		}
	}
}

// propertyList reads a whole property list.
func propertyList(t *testing.T, text string) any {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	var list any
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok {
			if start.Name.Local != "plist" || list != nil {
				t.Fatalf("there is an element %s", start.Name.Local)
			}
			list = value(t, d, &start)
		}
	}
}

// TestUserAgent: the agent is a property list with the keys and types of launchd.plist(5), the
// sockets that the daemon takes by name, for their owner alone, and any path.
func TestUserAgent(t *testing.T) {
	for _, program := range []string{"/usr/local/bin/permd", "/opt/my tools/permd", "/opt/a&b<c>'\"/permd", "/opt/@ADMIN@/permd@1", "/opt/日本/permd", "/opt/]]>--/permd"} {
		unit, err := UserAgent(macAgent(program))
		if err != nil {
			t.Fatal(err)
		}
		socket := func(path string) map[string]any {
			return map[string]any{"SockPathName": path, "SockPathMode": 0o600}
		}
		want := []any{map[string]any{
			"Label":              strings.TrimSuffix(unit.Name, ".plist"),
			"ProgramArguments":   []any{program, "serve"},
			"Sockets":            map[string]any{systemd.DecisionName: socket("/Users/ana/run/permd.sock"), systemd.AdminName: socket("/Users/ana/run-admin/admin.sock")},
			"ProcessType":        "Interactive",
			"ExitTimeOut":        20,
			"Umask":              0o077,
			"HardResourceLimits": map[string]any{"Core": 0},
			"StandardErrorPath":  "/Users/ana/permd.log",
		}}
		if diff := cmp.Diff(any(want), propertyList(t, unit.Text)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", program, diff)
		}
		if got, plain := AgentProgram(unit.Text); got != program || !plain {
			t.Errorf("it starts %q, %v, want %q", got, plain, program)
		}
	}
}

func TestUserAgentRefuses(t *testing.T) {
	long := "/" + strings.Repeat("a", maxSocket)
	for name, change := range map[string]func(*Agent){
		"a relative path":                func(a *Agent) { a.Program = "permd" },
		"a path with ..":                 func(a *Agent) { a.Program = "/usr/../permd" },
		"no path":                        func(a *Agent) { a.Log = "" },
		"a path that is not UTF-8":       func(a *Agent) { a.Program = "/usr/\xff/permd" },
		"a control character":            func(a *Agent) { a.Program = "/usr/\n/permd" },
		"a character that is no one":     func(a *Agent) { a.Log = "/usr/\uffff" },
		"a decision socket's long path":  func(a *Agent) { a.DecisionSocket = long },
		"a management socket's long one": func(a *Agent) { a.AdminSocket = long },
	} {
		a := macAgent("/usr/local/bin/permd")
		change(a)
		if unit, err := UserAgent(a); err == nil {
			t.Errorf("%s is taken:\n%s", name, unit.Text)
		}
	}
	a := macAgent("/usr/local/bin/permd")
	a.DecisionSocket = long[:maxSocket]
	if _, err := UserAgent(a); err != nil {
		t.Errorf("a path of %d bytes: %v", maxSocket, err)
	}
}

// TestAgentProgramChanged: of an agent that was changed by hand no program is taken for permd's,
// unless the change is elsewhere.
func TestAgentProgramChanged(t *testing.T) {
	unit, err := UserAgent(macAgent("/usr/local/bin/permd"))
	if err != nil {
		t.Fatal(err)
	}
	for change, plain := range map[[2]string]bool{
		{"", ""}: true,
		{"<integer>20</integer>", "<integer>40</integer>"}:                            true,
		{"<string>serve</string>", "<string>status</string>"}:                         false,
		{"<string>serve</string>", "<string>-v</string>\n\t\t<string>serve</string>"}: false,
		{"<key>ProgramArguments</key>", "<key>Program</key>"}:                         false,
		{"/usr/local/bin/permd", "permd"}:                                             false,
		{"/usr/local/bin/permd", "/usr/<b/>/permd"}:                                   false,
	} {
		text := strings.Replace(unit.Text, change[0], change[1], 1)
		if program, got := AgentProgram(text); got != plain || plain && program != "/usr/local/bin/permd" {
			t.Errorf("%q: %q, %v", change, program, got)
		}
	}
}

// TestAgentPaths: the sockets of macOS are short enough for everybody whose home is where it is
// on a Mac, with the longest name of an account.
func TestAgentPaths(t *testing.T) {
	home := "/Users/" + strings.Repeat("n", 31)
	vars := map[string]string{"HOME": home, "XDG_RUNTIME_DIR": "/tmp"}
	find := func(host string) xdg.Dirs {
		dirs, err := xdg.Find(xdg.Env{Getenv: func(n string) string { return vars[n] }, UID: 501, Hostname: host, OS: "darwin"}, xdg.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return dirs
	}
	dirs, elsewhere := find("a.local"), find("a.office.example")
	if diff := cmp.Diff(dirs, elsewhere); diff != "" {
		t.Errorf("another network changes the folders:\n%s", diff)
	}
	if dirs.Agents != home+"/Library/LaunchAgents" || !slices.Contains(dirs.Ignored, "XDG_RUNTIME_DIR") {
		t.Errorf("have %+v", dirs)
	}
	if _, err := UserAgent(&Agent{Program: "/usr/local/bin/permd", DecisionSocket: dirs.Socket(), AdminSocket: dirs.AdminSocket(), Log: home + "/permd.log"}); err != nil {
		t.Error(err)
	}
}
