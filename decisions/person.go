package decisions

import "github.com/permd/permd/decisions/effects"

// needsPerson returns why the whole call needs a person (row 3 of the table in
// docs/policy.md), "" if it does not.
func needsPerson(req *Request, res *effects.Result) string {
	switch {
	case len(res.Defects) > 0:
		return "the request is defective: " + res.Defects[0].Text
	case onlyNamed(res): // whether a person is needed is up to rules
	case res.Completeness == effects.None || res.Missing != "":
		return notFullyKnown + res.Missing
	}
	switch {
	case req.HarnessAsks != "":
		return "the harness wants a person: " + req.HarnessAsks
	case secretLeaves(res.Effects):
		return "a secret is read and the network is reached in one call"
	}
	return ""
}

const notFullyKnown = "the call is not fully known: "

// onlyNamed reports whether all that is known of a call is in an effect that says so.
func onlyNamed(res *effects.Result) bool {
	return len(res.Effects) == 1 && res.Effects[0].Cause == effects.CauseOnlyNamed && res.Missing == res.Effects[0].Why
}

// secretLeaves reports whether a call both accesses a secret and connects to something
// other than this machine. A program that prints secrets gets them from a service that
// it always connects to, so for such secrets only other connections count.
func secretLeaves(effs []effects.Effect) bool {
	var read, printed, leaves, elsewhere bool
	for i := range effs {
		secret := effs[i].Tags.Has(effects.Secret)
		switch e := &effs[i]; e.Kind {
		case effects.KindRead:
			read = read || secret
		case effects.KindRun, effects.KindState:
			printed = printed || secret
		case effects.KindConnect:
			if e.Tags.Has(effects.Loopback) {
				continue
			}
			leaves = true
			elsewhere = elsewhere || !e.Inherent() || !effs[e.Via.Effect].Tags.Has(effects.Secret)
		case effects.KindWrite, effects.KindDelete, effects.KindUse, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
		}
	}
	return read && leaves || printed && elsewhere
}
