package arguments

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Off is why the arguments of a decision are not there where the settings let none be kept.
const Off = "no arguments are kept (no_arguments in permd.toml)"

// Status is what a Keeper does.
type Status struct {
	Off bool `json:"off,omitzero"` // nothing may be kept
	// Failing is why what is there cannot be deleted although nothing may be kept, "" if it is.
	Failing string `json:"failing,omitzero"`
}

// Status returns what k does; of a nil Keeper the zero Status.
func (k *Keeper) Status() Status {
	if k == nil {
		return Status{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return Status{Off: k.off(), Failing: k.kept}
}

func (k *Keeper) off() bool { return k.o.Off != nil && k.o.Off() }

// Changed says that Off may return something else. It does not wait.
func (k *Keeper) Changed() {
	select {
	case k.changed <- struct{}{}:
	default: // it will be looked at
	}
}

// deleteIfOff deletes what is there if nothing may be kept. It is false if something could not be
// deleted.
func (k *Keeper) deleteIfOff() bool {
	err := error(nil)
	if k.off() {
		k.leave()
		err = k.deleteAll()
	}
	k.mu.Lock()
	before := k.kept
	if k.kept = ""; err != nil {
		k.kept = err.Error()
	}
	k.mu.Unlock()
	if err != nil && before == "" {
		k.o.Log.Error("arguments of past calls cannot be deleted, although none may be kept", "error", err)
	}
	return err == nil
}

// deleteAll deletes the arguments of all decisions. Rules of earlier times stay.
func (k *Keeper) deleteAll() error {
	names, err := segments(k.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if e := os.Remove(filepath.Join(k.o.Dir, name)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
