package settings

import (
	"reflect"
	"slices"
	"testing"

	"github.com/permd/permd/decisions"
)

// FuzzParse: no permd.toml that is accepted lets a failure allow or lifts a bound, and no
// person's loosens what org says.
func FuzzParse(f *testing.F) {
	for _, c := range [][2]string{
		{"only_org = true\non_failure = \"deny\"\n", "profile = \"careful\"\n"}, {"[limits]\nconnections = 16\n", "limits.connections = 20"}, {"confirm = \"always\"", "confirm = \"guarded\""},
		{"[http]\nlisten = \"127.0.0.1:1\"", "http.listen = \"off\""}, {"disable = [\"base.network\"]", "disable = []"}, {"journal.max_age = \"30d\"", "[journal]\nmax_bytes = 33554432"}, {"ask_gates = true", "ask_gates = false"},
		{"remember = \"off\"\nlock = \"a\"\n[[revoke]]\nkind = \"run\"\npattern = \"go *\"\nbefore = 2026-05-01", "forbid_modes = []"},
		{"require_layers = [\"org\"]\nremember_at_most = \"1d\"\nforbid_modes = [\"a\"]", "lock = \"\""},
		{"on_log_failure = \"deny\"", "on_log_failure = \"ask\""}, {"\"profile\" = 'unattended'", "Profile = \"x\""}, {"limits = {connections = 1}", "limits = {}\nlimits.connections = 1"},
	} {
		f.Add([]byte(c[0]), []byte(c[1]))
	}
	f.Fuzz(func(t *testing.T, orgFile, userFile []byte) {
		org, err := Parse("org", orgFile)
		if err != nil {
			org = Settings{}
		}
		user, err := Parse("user", userFile)
		if err != nil {
			user = Settings{}
		}
		for _, s := range []Settings{org, user} {
			if s.OnFailure == decisions.Allow || s.OnLogFailure == decisions.Allow {
				t.Fatal("a failure allows")
			}
			if s.Limits.Connections > maxConnections || s.Limits.MessageBytes > maxMessageBytes || s.Limits.DecisionMilliseconds > maxDecision || s.Limits.Connections < 0 || s.Journal.MaxBytes > maxJournalBytes {
				t.Fatalf("limits %+v, %+v", s.Limits, s.Journal)
			}
		}
		if reflect.DeepEqual(org, Settings{}) && reflect.DeepEqual(user, Settings{}) {
			return // Merge reads the base layer, which takes its time
		}
		merged, err := Merge(org, user)
		if err != nil {
			return
		}
		if merged.Profile == "" || merged.OnFailure == "" || merged.OnLogFailure == "" || merged.Durability == "" || merged.Limits.Connections <= 0 || merged.HTTP.Listen == "" || merged.Journal.Age() <= 0 || merged.Notify == "" {
			t.Fatalf("a setting without a value: %+v", merged)
		}
		if of := org.Restrictions(); !of.None() || user.setsRestriction() != "" {
			if got := merged.Restrictions(); got.Text() != of.Text() {
				t.Fatalf("org forbids %s, in force is %s", of.Text(), got.Text())
			}
		}
		switch {
		case org.OnlyOrg != merged.OnlyOrg, org.AskGates && !merged.AskGates, org.NoArguments && !merged.NoArguments, org.Notify != "" && merged.Notify != org.Notify,
			org.OnFailure != "" && merged.OnFailure != org.OnFailure, org.OnLogFailure != "" && merged.OnLogFailure != org.OnLogFailure,
			org.Profile != "" && merged.Profile != org.Profile, org.Confirm != "" && merged.Confirm != org.Confirm,
			org.Limits.Connections != 0 && merged.Limits.Connections != org.Limits.Connections,
			org.HTTP.Listen != "" && merged.HTTP.Listen != org.HTTP.Listen, org.Disable != nil && !slices.Equal(merged.Disable, org.Disable):
			t.Fatalf("org %+v and user %+v are %+v", org, user, merged)
		}
	})
}
