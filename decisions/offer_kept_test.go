package decisions

import (
	"bytes"
	"testing"
)

// TestOfferKeepsNoMessage: an offer is kept until a person answers, and counts only the
// call. The call's input may be a short part of a long message.
func TestOfferKeepsNoMessage(t *testing.T) {
	p, _, _, e := newFakes(t)
	e.proposer = &fakeProposer{}
	p.fired = []Finding{finding(User, SetAsk)}
	for name, cache := range map[string]*Cache{"without a cache": nil, "with a cache": new(Cache)} {
		t.Run(name, func(t *testing.T) {
			e.cache = cache
			var reqs []*Request
			for range 2 { // requests of several calls are not cached
				r := bash(t, "frob x")
				message := append(append([]byte("before "), r.Call.Input...), " after"...)
				r.Call.Input = message[7 : len(message)-6]
				reqs = append(reqs, r)
			}
			for _, list := range [][]*Request{reqs[:1], reqs} {
				for i, d := range e.Decide(t.Context(), list...) {
					if d.Offer == nil || d.Offer.Reject == nil || len(d.Offer.Sets) == 0 {
						t.Fatalf("%+v", d)
					}
					kept := d.Offer.Sets[0].Items[0].Query.Call.Input
					if !bytes.Equal(kept, list[i].Call.Input) {
						t.Errorf("the input is %s", kept)
					}
					if &kept[0] == &list[i].Call.Input[0] {
						t.Error("the offer has a part of the message")
					}
				}
			}
		})
	}
}
