package effects

// Detail says which of its detail members an effect has. Code that handles these members
// is a switch on it, so that a linter finds all places where a new one has to be added.
type Detail uint8

// The details.
const (
	NoDetail Detail = iota // only Why
	DetailRun
	DetailFile
	DetailConnect
	DetailUse
)

// Detail returns which of Run, File, Connect and Use is set.
func (e *Effect) Detail() Detail {
	switch {
	case e.Run != nil:
		return DetailRun
	case e.File != nil:
		return DetailFile
	case e.Connect != nil:
		return DetailConnect
	case e.Use != nil:
		return DetailUse
	}
	return NoDetail
}
