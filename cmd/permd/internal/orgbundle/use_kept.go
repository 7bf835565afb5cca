package orgbundle

import (
	"context"

	"github.com/permd/permd/policy/bundles"
)

// tryKept has the last good bundle of those that are tried tried.
func (d *Delivery) tryKept(ctx context.Context) {
	d.delivering.Lock()
	defer d.delivering.Unlock()
	d.mu.Lock()
	k := d.in.of(bundles.Shadow)
	var last *bundles.Bundle
	if k != nil && !k.active {
		last = k.last
	}
	d.mu.Unlock()
	if last == nil {
		return
	}
	d.noteKept(k, d.daemon.Store.DeliverShadow(ctx, last.Revision, last.Files, nil))
}

// noteKept notes whether a bundle that was kept is in use.
func (d *Delivery) noteKept(k *kept, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k.active = err == nil; err != nil {
		k.damaged, k.last = "the bundle that was kept cannot be used: "+err.Error(), nil
	}
}

// useKept puts bundles in use that were kept, of what a changed configuration names anew. Where
// there are none, calls ask, as they would after a start.
func (d *Delivery) useKept(ctx context.Context) {
	store := d.daemon.Store
	d.delivering.Lock()
	for _, kind := range []bundles.Kind{bundles.Org, bundles.User} {
		deliver := store.Deliver
		if kind == bundles.User {
			deliver = store.DeliverUsers
		}
		d.mu.Lock()
		k := d.in.of(kind)
		var last *bundles.Bundle
		if k != nil && !k.active {
			last = k.last
		}
		d.mu.Unlock()
		if last != nil {
			d.noteKept(k, deliver(ctx, last.Files, nil))
		}
		d.mu.Lock()
		why := d.missing(kind)
		d.mu.Unlock()
		if why != "" {
			store.Withhold(ctx, LayerOf(kind), why)
		}
	}
	d.delivering.Unlock()
	d.tryKept(ctx)
}
