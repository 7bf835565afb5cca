package decisions

import "github.com/permd/permd/decisions/effects"

// needsPerson says why the whole call needs a person (row 3 of the table in docs/policy.md).
func needsPerson(req *Request, res *effects.Result) string {
	switch {
	case len(res.Defects) > 0:
		return "the request is defective: " + res.Defects[0].Text
	case res.Completeness == effects.None || res.Missing != "":
		return "the call is not fully known: " + res.Missing
	case req.HarnessAsks != "":
		return "the harness wants a person: " + req.HarnessAsks
	case secretLeaves(res.Effects):
		return "a secret is read and the network is reached in one call"
	}
	return ""
}

// secretLeaves reports whether a call both has a secret and reaches something
// other than this machine. A program that prints secrets has them from the
// service that it always asks, so for what it prints only others count.
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
