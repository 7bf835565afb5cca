package cli

// Exclusive returns the error of wrong usage if more than one of some flags is given, nil otherwise.
func Exclusive(given func(name string) bool, names ...string) error {
	first := ""
	for _, name := range names {
		switch {
		case !given(name):
		case first != "":
			return Failf(ExitUsage, "leave out one", "--%s and --%s cannot be used together", first, name)
		default:
			first = name
		}
	}
	return nil
}
