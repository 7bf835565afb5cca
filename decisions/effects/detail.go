package effects

// Detail says which of its detail members an effect has. What is made of these
// members is a switch on it: the linter then finds the places that a new one has
// to be added to.
type Detail uint8

// The details.
const (
	NoDetail Detail = iota // only Why
	DetailRun
	DetailFile
	DetailConnect
	DetailUse
)

// Detail is which of Run, File, Connect and Use is set.
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
