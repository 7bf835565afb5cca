package policy

import (
	"reflect"

	"github.com/permd/permd/policy/restrictions"
)

// InForce returns the settings in force that concern decisions. What they point to is not changed.
func (s *Store) InForce() Switches { return s.state.Load().switches }

// Changed returns the keys of permd.toml whose values in w differ from those before, in the order
// of the fields.
func (w *Switches) Changed(before *Switches) (keys []string) {
	differs(&keys, reflect.ValueOf(*before), reflect.ValueOf(*w), map[string]string{
		"Profile": "profile", "OnlyOrg": "only_org", "DenyOnFailure": "on_failure", "Disable": "disable", "AskGates": "ask_gates", "NoPause": "no_pause",
		"NoLock": "no_lock", "RefuseDeclared": "refuse_declared", "NoArguments": "no_arguments", "Shadow": "shadow", "Notify": "notify", "Reload": "reload",
		"Restrictions": "", "ProjectTrust": "project_trust", "Approved": "trusted",
	})
	differs(&keys, reflect.ValueOf(before.Restrictions), reflect.ValueOf(w.Restrictions), restrictions.Keys())
	return keys
}

// differs adds the keys of the fields that differ in two structs; a field of the key "" is left out.
func differs(keys *[]string, before, now reflect.Value, names map[string]string) {
	for i := range now.NumField() {
		key := names[now.Type().Field(i).Name]
		if key != "" && !reflect.DeepEqual(before.Field(i).Interface(), now.Field(i).Interface()) {
			*keys = append(*keys, key)
		}
	}
}

// readSwitches reads the settings that concern rules.
func (s *Store) readSwitches() (Switches, error) {
	if s.opts.Switches == nil {
		return Switches{}, nil
	}
	return s.opts.Switches()
}
