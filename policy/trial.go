package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/policy/trust"
)

// TrustTrial returns the rules for calls of a person in the project with a root, as they would be if
// the person trusted its list with a text, which must be the present one. The store does not keep
// them, so no call is decided by them but those that the caller decides. Whether the organisation lets
// the person trust the project is not considered. The error says why the list would allow nothing.
func (s *Store) TrustTrial(ctx context.Context, uid uint32, root string, text []byte) (decisions.Snapshot, error) {
	at := s.at(uid, root)
	if err := s.prepareUser(ctx, at.uid); err != nil {
		return nil, fmt.Errorf("loading your rules: %w", err)
	}
	dirs, err := source.ProjectDirs(root)
	if err != nil {
		return nil, fmt.Errorf("loading project rules: %w", err)
	}
	st := s.state.Load()
	n := (&layerState{layer: decisions.Project, uid: at.uid, project: root, dirs: dirs}).withOrg(st.org)
	now := s.opts.now()
	n.grounds = grounds{pin: &trust.Pin{
		UID: at.uid, Root: root, Digest: trust.Digest(text), Text: text, Since: now, Until: now.Add(trust.Least),
	}}
	read, stable := s.read(ctx, n, loadOptions{deadline: time.Now().Add(s.delays.load)})
	if !stable {
		return nil, errBusy
	}
	if err := read.problems.Err(decisions.Project); read.problems.Failed() {
		return nil, err
	}
	n = s.build(ctx, n, read.files, nil)
	if err := n.err(); err != nil {
		return nil, err
	}
	if n.assessed.By == "" {
		return nil, fmt.Errorf("the list is not trusted: %s", n.assessed.Problem)
	}
	return rules.NewSnapshot(s.basis(st, at.uid, n, true)), nil
}
