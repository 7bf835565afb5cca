package settings

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/rego"
)

// Merge returns the settings in effect: where org sets a key, the user's value
// is ignored, and keys that only org may set are ignored in the user's file.
// Keys that neither sets have their default.
func Merge(org, user Settings) (Settings, error) {
	const orgOnly = "leave it to /etc/permd/permd.toml"
	switch {
	case user.OnlyOrg:
		return Settings{}, &fileError{file: "permd.toml", text: "only_org can be set by org alone", fix: orgOnly}
	case user.NoPause:
		return Settings{}, &fileError{file: "permd.toml", text: "no_pause can be set by org alone", fix: orgOnly}
	case user.NoLock:
		return Settings{}, &fileError{file: "permd.toml", text: "no_lock can be set by org alone", fix: orgOnly}
	case user.ProjectTrust != "" || user.Trusted != nil:
		return Settings{}, &fileError{file: "permd.toml", text: "project_trust and trusted can be set by org alone", fix: "permd trust is for you"}
	case user.System != System{}:
		return Settings{}, &fileError{file: "permd.toml", text: "system can be set by org alone", fix: orgOnly}
	case user.OnFailure != "":
		return Settings{}, &fileError{file: "permd.toml", text: "on_failure can be set by org alone", fix: orgOnly}
	}
	if key := user.setsRestriction(); key != "" {
		return Settings{}, &fileError{file: "permd.toml", text: key + " can be set by org alone", fix: orgOnly}
	}
	for _, id := range user.Disable {
		if slices.Contains(rego.BaseDenies(), id) {
			return Settings{}, &fileError{file: "permd.toml", fix: orgOnly,
				text: fmt.Sprintf("%s is a deny of the base layer, which org alone can disable", id)}
		}
	}
	merged := Settings{
		Profile:    cmp.Or(org.Profile, user.Profile, ProfileBalanced),
		OnlyOrg:    org.OnlyOrg,
		Disable:    user.Disable,
		Durability: cmp.Or(org.Durability, user.Durability, durabilityProcess),
		Confirm:    cmp.Or(org.Confirm, user.Confirm, confirmGuarded),
		OnFailure:  cmp.Or(org.OnFailure, decisions.Ask),
		AskGates:   org.AskGates || user.AskGates,
		NoPause:    org.NoPause,
		NoLock:     org.NoLock,

		NoArguments: org.NoArguments || user.NoArguments,
		Notify:      cmp.Or(org.Notify, user.Notify, NotifyFull),
		Reload:      cmp.Or(org.Reload, user.Reload, ReloadAuto),

		ProjectTrust: cmp.Or(org.ProjectTrust, TrustUser),

		RefuseDeclared: org.RefuseDeclared || user.RefuseDeclared,

		Limits: Limits{
			MessageBytes:         cmp.Or(org.Limits.MessageBytes, user.Limits.MessageBytes, 4<<20),
			Connections:          cmp.Or(org.Limits.Connections, user.Limits.Connections, 256),
			ConnectionsPerUser:   cmp.Or(org.Limits.ConnectionsPerUser, user.Limits.ConnectionsPerUser, 128),
			DecisionMilliseconds: cmp.Or(org.Limits.DecisionMilliseconds, user.Limits.DecisionMilliseconds, 2000),
		},
	}
	merged.restrict(&org)
	merged.OnLogFailure = cmp.Or(org.OnLogFailure, user.OnLogFailure, decisions.Ask)
	merged.Journal = Journal{
		MaxBytes: cmp.Or(org.Journal.MaxBytes, user.Journal.MaxBytes, defaultJournalBytes),
		MaxAge:   cmp.Or(org.Journal.MaxAge, user.Journal.MaxAge, defaultJournalAge),
	}
	switch {
	case org.Shadow != "":
		merged.Shadow, merged.ShadowLayer = org.Shadow, decisions.Org
	case user.Shadow != "":
		merged.Shadow, merged.ShadowLayer = user.Shadow, decisions.User
	}
	if len(org.Trusted) > 0 {
		merged.Trusted = org.Trusted
	}
	merged.System = System{
		Group: cmp.Or(org.System.Group, defaultGroup), Admins: org.System.Admins,
		// Eight people can write all that the log keeps in a day.
		LogBytesPerUser: cmp.Or(org.System.LogBytesPerUser, merged.Journal.MaxBytes/8),
	}
	merged.HTTP.Listen = cmp.Or(org.HTTP.Listen, user.HTTP.Listen, ListenOff)
	if org.Disable != nil {
		merged.Disable = org.Disable
	}
	return merged, nil
}
