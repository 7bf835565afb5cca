package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/trust"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
)

// trusts are the projects whose rules people trust, as the management methods have it.
type trusts struct{ d *daemon }

// Trust pins what a person has seen of a project's rules, and has their allows count as long as
// the project has the same.
func (t trusts) Trust(ctx context.Context, peer decisions.Peer, n admin.NewTrust) (admin.Trusted, error) {
	counts, _ := t.d.rules.ProjectTrust()
	switch {
	case counts == settings.TrustApproved:
		return admin.Trusted{}, admin.Refusal("only lists that the organisation approves are trusted (project_trust): it must approve digest " + trust.Digest(n.Text))
	case counts != settings.TrustUser:
		return admin.Trusted{}, admin.Refusal("the organisation lets nobody trust a project (project_trust)")
	case !t.d.rules.System() && peer.UID != uint32(os.Geteuid()):
		return admin.Trusted{}, admin.Refusal("only the user that the daemon runs as trusts projects")
	}
	if _, err := list.Parse(source.ListName, n.Text); err != nil {
		return admin.Trusted{}, admin.Refusal("the list cannot be read: " + err.Error())
	}
	seconds := min(max(n.Seconds, 0), int64(trust.Max/time.Second)+1)
	p, err := t.d.rules.Trusted.Set(peer.UID, n.Root, n.Text, time.Duration(seconds)*time.Second, func(p *trust.Pin) error {
		return t.d.recordAct(ctx, peer, "permd trust", fmt.Sprintf("the rules of %s with digest %s are trusted until %s", p.Root, p.Digest, p.Until.Format(time.RFC3339)))
	})
	if why, ok := errors.AsType[trust.Refusal](err); ok {
		return admin.Trusted{}, admin.Refusal(why)
	}
	if err != nil {
		return admin.Trusted{}, fmt.Errorf("nothing is trusted: %w", err)
	}
	if err := t.d.rules.Retrust(ctx, peer.UID, p.Root); err != nil {
		t.d.log.Warn("the rules of a trusted project", "project", p.Root, "error", err) // the status has it
	}
	return wireTrust(p), nil
}

// TrustedBy returns what a person trusts, of one project with its text, and what org says of it.
func (t trusts) TrustedBy(uid uint32, root string) admin.TrustedList {
	l := admin.TrustedList{Trusted: []admin.Trusted{}, Damage: t.d.rules.Trusted.Damage()}
	var approved []admin.ApprovedList
	counts, all := t.d.rules.ProjectTrust()
	for _, a := range all {
		approved = append(approved, admin.ApprovedList(a))
	}
	l.Counts, l.Approved = counts, approved
	for _, p := range t.d.rules.Trusted.List(uid) {
		if root == "" || root == p.Root {
			w := wireTrust(p)
			if root != "" {
				w.Text = p.Text
			}
			l.Trusted = append(l.Trusted, w)
		}
	}
	return l
}

// TryTrust decides what a list would allow if the person trusted it.
func (t trusts) TryTrust(ctx context.Context, peer decisions.Peer, n admin.TrustTrial) (admin.Tried, error) {
	if !t.d.rules.System() && peer.UID != uint32(os.Geteuid()) {
		return admin.Tried{}, admin.Refusal("only the user that the daemon runs as trusts projects")
	}
	if len(n.Text) > trust.MaxText {
		return admin.Tried{}, admin.Refusal(fmt.Sprintf("a list that is trusted has at most %d KiB", trust.MaxText>>10))
	}
	entries, err := t.d.trial.Entries(ctx, peer, n.Root, n.Text, rejectsOf(t.d.memory, peer.UID))
	if err != nil && ctx.Err() == nil {
		return admin.Tried{}, admin.Refusal("what the list would allow is not known: " + err.Error())
	}
	return admin.Tried{Entries: entries}, err
}

// rejects are a person's remembered rejects, without a count of what they match.
type rejects []*remember.Trial

func rejectsOf(memory *remember.Store, uid uint32) (list rejects) {
	for _, c := range memory.List(&uid) {
		if c.Verdict != decisions.Deny {
			continue
		}
		if t, err := memory.TryChange(c.ID, remember.Change{}); err == nil { // else it has ended
			list = append(list, t)
		}
	}
	return list
}

// Match implements [decisions.Memory].
func (r rejects) Match(q *decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	for _, t := range r {
		if t.Matches(q) {
			return &decisions.Choice{ID: t.Choices[0].ID, Label: t.Choices[0].Label}, nil, nil
		}
	}
	return nil, nil, nil
}

// Distrust ends a person's trust in a project.
func (t trusts) Distrust(ctx context.Context, peer decisions.Peer, root string) (admin.Ended, error) {
	was, err := t.d.rules.Trusted.Revoke(peer.UID, root)
	if was == nil {
		return admin.Ended{}, err
	}
	if again := t.d.rules.Retrust(ctx, peer.UID, root); again != nil {
		t.d.log.Warn("the rules of a project that is not trusted any more", "project", root, "error", again)
	}
	e := admin.Ended{Ended: true}
	if err := errors.Join(err, t.d.recordAct(ctx, peer, "permd trust --revoke", "the rules of "+root+" are not trusted any more")); err != nil {
		e.Unstored = err.Error()
	}
	return e, nil
}

func wireTrust(p *trust.Pin) admin.Trusted {
	return admin.Trusted{Root: p.Root, Digest: p.Digest, Since: p.Since, Until: p.Until}
}

// trustText says after the rules of a project what trust in it comes to, "" if nobody trusts it.
func trustText(t *policy.Trust) string {
	switch {
	case t == nil:
		return ""
	case t.Problem != "":
		return "; its allows do not count: " + t.Problem
	case t.By == decisions.Org:
		return ", trusted by the organisation"
	}
	return ", trusted until " + t.Until.Local().Format(time.DateOnly)
}
