package settings

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
)

// TestBounds: a file at its bounds is read.
func TestBounds(t *testing.T) {
	text := "profile = \"careful\"\n# " + strings.Repeat("[{", maxBrackets/2) + "\n# " + strings.Repeat(".", maxDots-2) + "\n"
	text += strings.Repeat("#", MaxBytes-len(text))
	if got, err := Parse("permd.toml", []byte(text)); err != nil || got.Profile != ProfileCareful {
		t.Errorf("settings %+v, error %v", got, err)
	}
}

func TestParse(t *testing.T) {
	got, err := Parse("/etc/permd/permd.toml", []byte(`
# comments are fine
profile = "balanced"
only_org = true
disable = ["base.network"]
durability = "power"
confirm = "always"
on_failure = "deny"
on_log_failure = "deny"
shadow = "../new/rules"

[journal]
max_bytes = 33554432
max_age = "30d"

[limits]
message_bytes = 1048576
connections = 16
connections_per_user = 8
decision_milliseconds = 500

[http]
listen = "[::1]:8181"
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Profile: "balanced", OnlyOrg: true, Disable: []string{"base.network"}, Durability: "power", Confirm: "always", OnFailure: decisions.Deny,
		OnLogFailure: decisions.Deny, Shadow: "/etc/new/rules", Journal: Journal{MaxBytes: 32 << 20, MaxAge: "30d"},
		Limits: Limits{MessageBytes: 1 << 20, Connections: 16, ConnectionsPerUser: 8, DecisionMilliseconds: 500}, HTTP: HTTP{Listen: "[::1]:8181"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	empty, err := Parse("permd.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Settings{}, empty); diff != "" {
		t.Errorf("empty file (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		says, hint string
	}{
		{"unknown key", "\nprofil = \"balanced\"", 2, "the key profil is not known", "profile, only_org"},
		{"unknown key in a table", "[limits]\n\nmesage_bytes = 1", 3, "the key limits.mesage_bytes is not known", "limits.message_bytes"},
		{"unknown dotted key", "limits.x = 1", 1, "the key limits.x is not known", "limits.message_bytes"},
		{"unknown table", "[limit]\nconnections = 1", 1, "the key limit is not known", "limits"},
		{"case", "Only_Org = true", 1, "the key Only_Org is not known", "only_org"},
		{"twice", "profile = \"balanced\"\nprofile = \"balanced\"", 2, "already", ""},
		{"type", "only_org = \"yes\"", 1, "string", ""},
		{"no TOML", "profile: balanced", 1, "expected", ""},
		{"no profile", "profile = \"yolo\"", 1, "no profile", "balanced"},
		{"confirm", "confirm = \"never\"", 1, "no way to confirm", "always"},
		{"durability", "durability = \"full\"", 1, "no durability", "power"},
		{"failure that allows", "on_failure = \"allow\"", 1, "cannot be answered", "deny"},
		{"unlogged that is allowed", "on_log_failure = \"allow\"", 1, "cannot be answered", "deny"},
		{"small journal", "[journal]\nmax_bytes = 1024", 2, "max_bytes is 1024", "16777216"},
		{"large journal", "journal.max_bytes = 1099511627777", 1, "max_bytes is 1099511627777", "1099511627776"},
		{"age without a unit", "[journal]\nmax_age = \"90\"", 2, "the age \"90\"", "1d"},
		{"no age", "[journal]\nmax_age = \"0d\"", 2, "the age \"0d\"", "36500d"},
		{"long age", "[journal]\nmax_age = \"36501d\"", 2, "the age \"36501d\"", "36500d"},
		{"age below zero", "[journal]\nmax_age = \"-1d\"", 2, "the age \"-1d\"", "1d"},
		{"age with a sign", "[journal]\nmax_age = \"+1d\"", 2, "the age \"+1d\"", "1d"},
		{"unknown key of the journal", "[journal]\nage = \"1d\"", 2, "the key journal.age is not known", "journal.max_age"},
		{"disable of another layer", "disable = [\"org/x.rego:1\"]", 1, "no id of a base rule", "policy list"},
		{"shadow in the home", "shadow = \"~/rules\"", 1, "no path of a folder", "a path from /"},
		{"shadow with a line break", "shadow = \"/a\\nb\"", 1, "no path of a folder", "a path from /"},
		{"small messages", "[limits]\nmessage_bytes = 1", 2, "message_bytes is 1", "65536"},
		{"negative", "[limits]\nconnections = -1", 2, "connections is -1", "65536"},
		{"many", "[limits]\nconnections_per_user = 70000", 2, "is 70000", "65536"},
		{"HTTP for everybody", "[http]\nlisten = \"0.0.0.0:8181\"", 2, `"0.0.0.0:8181"`, "127.0.0.1:PORT"},
		{"HTTP for everybody, by a short form", "[http]\nlisten = \":8181\"", 2, "others could reach it", "127.0.0.1:PORT"},
		{"HTTP for everybody, version 6", "http.listen = \"[::]:8181\"", 1, "others could reach it", "127.0.0.1:PORT"},
		{"HTTP at a mapped address", "http.listen = \"[::ffff:127.0.0.1]:8181\"", 1, "others could reach it", "127.0.0.1:PORT"},
		{"HTTP at a name", "http.listen = \"localhost:8181\"", 1, "others could reach it", "127.0.0.1:PORT"},
		{"HTTP in a zone", "http.listen = \"[::1%lo]:8181\"", 1, "others could reach it", "127.0.0.1:PORT"},
		{"HTTP without a port", "http.listen = \"127.0.0.1\"", 1, "others could reach it", "127.0.0.1:PORT"},
		{"HTTP at a path", "http.listen = \"/tmp/permd.sock\"", 1, "others could reach it", "unix"},
		{"HTTP switched on", "http.listen = true", 1, "bool", ""},
		{"a layer that cannot be required", "require_layers = [\"base\"]", 1, "no rules of \"base\"", "user"},
		{"remember", "remember = \"never\"", 1, "no way to remember", "off"},
		{"remembered too long", "remember_at_most = \"3651d\"", 1, "the time \"3651d\"", "3650d"},
		{"remembered without a unit", "remember_at_most = \"30\"", 1, "the time \"30\"", "1d"},
		{"a mode without a name", "forbid_modes = [\"\"]", 1, "no name of a mode", ""},
		{"many modes", "forbid_modes = [" + strings.Repeat("\"a\",", maxModes+1) + "]", 1, "too many modes", "64"},
		{"unknown programs that are allowed", "unknown_programs = \"allow\"", 1, "cannot be answered", "deny"},
		{"unknown servers that are allowed", "unknown_servers = \"allow\"", 1, "cannot be answered", "deny"},
		{"a lock of two lines", "lock = \"a\\nb\"", 1, "cannot be shown", "one line"},
		{"a long lock", "lock = \"" + strings.Repeat("a", maxLock+1) + "\"", 1, "cannot be shown", "500"},
		{"an empty revocation", "[[revoke]]\n", 1, "is empty", "pattern"},
		{"a revocation of no kind", "[[revoke]]\npattern = \"ls\"", 1, "has no kind", "kind"},
		{"a revocation of another kind", "[[revoke]]\nkind = \"question\"", 1, "is remembered", "run"},
		{"a revocation of no line", "[[revoke]]\nkind = \"read\"\npattern = \"a/../b\"", 1, "cannot be read", ""},
		{"a date in quotes", "[[revoke]]\nbefore = \"May\"", 2, "May", ""},
		{"many revocations", strings.Repeat("[[revoke]]\nid = \"a\"\n", maxRevoke+1), 1, "more than 128", "before"},
		{"unknown key of a revocation", "[[revoke]]\nids = \"a\"", 2, "the key revoke.ids is not known", "revoke.id"},
		{"unknown key of HTTP", "[http]\nport = 1", 2, "the key http.port is not known", "http.listen"},
		{"long", strings.Repeat("#", MaxBytes+1), 0, "longer than 65536 bytes", "permd init"},
		{"deep", "disable = " + strings.Repeat("[", MaxBytes-20), 0, "more than 512 opening brackets", "permd init"},
		{"deep tables", "a = " + strings.Repeat("{a=", MaxBytes/4), 0, "more than 512 opening brackets", "permd init"},
		{"deep, over many lines", "disable = " + strings.Repeat("[\n", maxBrackets+1), 0, "more than 512 opening brackets", ""},
		{"deep within the bound", "disable = " + strings.Repeat("[", maxBrackets), 1, "unexpected EOF", ""},
		{"key of many parts", "\n" + strings.Repeat("a.", MaxBytes/4) + "a = 1", 2, "more than 128 dots", "permd init"},
		{"key of many parts within the bound", strings.Repeat("a.", maxDots) + "a = 1", 1, "is not known", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse("permd.toml", []byte(tt.text))
			e, ok := errors.AsType[*fileError](err)
			if !ok {
				t.Fatalf("settings %+v, error %v", got, err)
			}
			if e.line != tt.line || !strings.Contains(e.Error(), tt.says) || !strings.Contains(e.Error(), "permd.toml") {
				t.Errorf("error %q at line %d, want %q at line %d", e, e.line, tt.says, tt.line)
			}
			if !strings.Contains(e.Hint(), tt.hint) {
				t.Errorf("hint %q, want %q", e.Hint(), tt.hint)
			}
		})
	}
}

// restricting forbids all that the organisation can.
var restricting = Settings{
	RequireLayers: []decisions.Layer{decisions.Org, decisions.User}, Remember: rememberOff, RememberAtMost: "30d", ForbidModes: []string{"yolo"},
	UnknownPrograms: decisions.Deny, UnknownServers: decisions.Deny, Lock: "incident", Revoke: []Revoke{{Kind: "run", Pattern: "go *"}, {User: "ana"}},
}

func TestMerge(t *testing.T) {
	defaults := Settings{
		Profile: ProfileBalanced, Durability: durabilityProcess, Confirm: confirmGuarded, OnFailure: decisions.Ask,
		Limits: Limits{MessageBytes: 4 << 20, Connections: 256, ConnectionsPerUser: 128, DecisionMilliseconds: 2000}, HTTP: HTTP{Listen: ListenOff},
		OnLogFailure: decisions.Ask, Journal: Journal{MaxBytes: 256 << 20, MaxAge: "90d"}, Notify: NotifyFull, Reload: ReloadAuto, ProjectTrust: TrustUser,
		Remember: rememberOn, UnknownPrograms: decisions.Ask, UnknownServers: decisions.Ask,
	}
	with := func(change func(*Settings)) Settings {
		s := defaults
		change(&s)
		return s
	}
	tests := []struct {
		name      string
		org, user Settings
		want      Settings
		err       string
	}{
		{name: "defaults", want: defaults},
		{
			name: "org wins",
			org:  Settings{Durability: durabilityPower, Limits: Limits{Connections: 5}, Disable: []string{}},
			user: Settings{Durability: durabilityProcess, Limits: Limits{Connections: 7}, Disable: []string{"base.network"}},
			want: with(func(s *Settings) { s.Durability, s.Limits.Connections, s.Disable = durabilityPower, 5, []string{} }),
		},
		{
			name: "user where org is silent",
			user: Settings{Durability: durabilityPower, Disable: []string{"base.network"}},
			want: with(func(s *Settings) { s.Durability, s.Disable = durabilityPower, []string{"base.network"} }),
		},
		{
			name: "gates that org has asked about",
			org:  Settings{AskGates: true},
			want: with(func(s *Settings) { s.AskGates = true }),
		},
		{
			name: "gates that the user has asked about",
			user: Settings{AskGates: true},
			want: with(func(s *Settings) { s.AskGates = true }),
		},
		{
			name: "journal of the user",
			user: Settings{OnLogFailure: decisions.Deny, Journal: Journal{MaxBytes: 16 << 20, MaxAge: "1d"}},
			want: with(func(s *Settings) {
				s.OnLogFailure, s.Journal = decisions.Deny, Journal{MaxBytes: 16 << 20, MaxAge: "1d"}
			}),
		},
		{
			name: "journal of org",
			org:  Settings{OnLogFailure: decisions.Deny, Journal: Journal{MaxBytes: 1 << 30, MaxAge: "365d"}},
			user: Settings{OnLogFailure: decisions.Ask, Journal: Journal{MaxBytes: 16 << 20, MaxAge: "1d"}},
			want: with(func(s *Settings) {
				s.OnLogFailure, s.Journal = decisions.Deny, Journal{MaxBytes: 1 << 30, MaxAge: "365d"}
			}),
		},
		{
			name: "HTTP of the user",
			user: Settings{HTTP: HTTP{Listen: ListenUnix}},
			want: with(func(s *Settings) { s.HTTP.Listen = ListenUnix }),
		},
		{
			name: "no HTTP of org",
			org:  Settings{HTTP: HTTP{Listen: ListenOff}},
			user: Settings{HTTP: HTTP{Listen: ListenUnix}},
			want: defaults,
		},
		{
			name: "org only",
			org:  Settings{OnlyOrg: true, OnFailure: decisions.Deny, Disable: []string{"base.dd"}},
			want: with(func(s *Settings) { s.OnlyOrg, s.OnFailure, s.Disable = true, decisions.Deny, []string{"base.dd"} }),
		},
		{name: "org forbids to pause and lock", org: Settings{NoPause: true, NoLock: true}, want: with(func(s *Settings) { s.NoPause, s.NoLock = true, true })},
		{
			name: "shadow of the user", user: Settings{Shadow: "/u"},
			want: with(func(s *Settings) { s.Shadow, s.ShadowLayer = "/u", decisions.User }),
		},
		{
			name: "shadow of both", org: Settings{Shadow: "/o"}, user: Settings{Shadow: "/u"},
			want: with(func(s *Settings) { s.Shadow, s.ShadowLayer = "/o", decisions.Org }),
		},
		{
			name: "what org forbids", org: restricting,
			want: with(func(s *Settings) {
				s.RequireLayers, s.Remember, s.RememberAtMost, s.ForbidModes = restricting.RequireLayers, rememberOff, "30d", restricting.ForbidModes
				s.UnknownPrograms, s.UnknownServers, s.Lock, s.Revoke = decisions.Deny, decisions.Deny, "incident", restricting.Revoke
			}),
		},
		{name: "require_layers of a user", user: Settings{RequireLayers: restricting.RequireLayers}, err: "require_layers can be set by org alone"},
		{name: "remember of a user", user: Settings{Remember: rememberOn}, err: "remember can be set by org alone"},
		{name: "remember_at_most of a user", user: Settings{RememberAtMost: "1d"}, err: "remember_at_most can be set by org alone"},
		{name: "forbid_modes of a user", user: Settings{ForbidModes: []string{}}, err: "forbid_modes can be set by org alone"},
		{name: "unknown_programs of a user", user: Settings{UnknownPrograms: decisions.Ask}, err: "unknown_programs can be set by org alone"},
		{name: "unknown_servers of a user", user: Settings{UnknownServers: decisions.Ask}, err: "unknown_servers can be set by org alone"},
		{name: "lock of a user", user: Settings{Lock: "a"}, err: "lock can be set by org alone"},
		{name: "revoke of a user", user: Settings{Revoke: restricting.Revoke}, err: "revoke can be set by org alone"},
		{name: "no_pause of a user", user: Settings{NoPause: true}, err: "no_pause can be set by org alone"},
		{name: "org limits the log of each", org: Settings{System: System{LogBytesPerUser: 5 << 20}}, want: with(func(s *Settings) {
			s.System = System{Group: defaultGroup, LogBytesPerUser: 5 << 20}
		})},
		{name: "org keeps no arguments", org: Settings{NoArguments: true}, want: with(func(s *Settings) { s.NoArguments = true })},
		{name: "a user keeps no arguments", user: Settings{NoArguments: true}, want: with(func(s *Settings) { s.NoArguments = true })},
		{name: "notifications of the user", user: Settings{Notify: NotifyBrief}, want: with(func(s *Settings) { s.Notify = NotifyBrief })},
		{name: "notifications of both", org: Settings{Notify: NotifyOff}, user: Settings{Notify: NotifyFull}, want: with(func(s *Settings) { s.Notify = NotifyOff })},
		{name: "reload of the user", user: Settings{Reload: ReloadManual}, want: with(func(s *Settings) { s.Reload = ReloadManual })},
		{name: "reload of both", org: Settings{Reload: ReloadReplaySafe}, user: Settings{Reload: ReloadAuto}, want: with(func(s *Settings) { s.Reload = ReloadReplaySafe })},
		{name: "no_lock of a user", user: Settings{NoLock: true}, err: "no_lock can be set by org alone"},
		{name: "[system] of a user", user: Settings{System: System{Admins: "wheel"}}, err: "system can be set by org alone"},
		{name: "only_org of a user", user: Settings{OnlyOrg: true}, err: "only_org can be set by org alone"},
		{name: "on_failure of a user", user: Settings{OnFailure: decisions.Ask}, err: "on_failure can be set by org alone"},
		{name: "base deny of a user", user: Settings{Disable: []string{"base.dd"}}, err: "base.dd is a deny"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Merge(tt.org, tt.user)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.want.System == (System{}) {
				tt.want.System.Group = defaultGroup
			}
			if tt.want.System.LogBytesPerUser == 0 {
				tt.want.System.LogBytesPerUser = tt.want.Journal.MaxBytes / 8
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}
