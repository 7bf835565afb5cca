package effects

// markClaimed marks the effects from index n on if they rest on words alone.
func (t *tool) markClaimed(n int) {
	if !t.claimed {
		return
	}
	for i := n; i < len(t.effects); i++ {
		t.effects[i].Claimed = true
	}
}

// lack adds an Unknown for something that the call should say and does not.
func (t *tool) lack(why string) {
	t.unknown(t.from, why)
	if t.missing == "" {
		t.missing = why
	}
}

// malformed adds an Unknown and a defect for a part of the wrong type.
func (t *tool) malformed(at, why string) {
	t.unknown(at, why)
	t.defect(DefectDropped, at, why)
}

func (t *tool) defect(code, at, text string) {
	d := Defect{Code: code, At: at, Text: text}
	for _, have := range t.defects {
		if have == d {
			return
		}
	}
	if len(t.defects) < maxEffects {
		t.defects = append(t.defects, d)
	}
}

// result closes the call: it has at least one effect, not too many, and says
// how much of it is known.
func (t *tool) result() Result {
	r := Result{Completeness: Full, Missing: t.missing, Project: t.res.project()}
	switch {
	case len(t.effects) > 0:
	case t.nothing:
		// Comments, true, a cd that stays in the project: it does nothing.
		t.add(Effect{
			Kind: KindRun, From: t.from, Text: "run true", Tags: t.res.cwdTags(t.cwd),
			Run: &Run{Program: "true", Stdin: StdinNone, Cwd: t.cwd, Known: true, Readonly: true},
		})
	default:
		t.lack("nothing is known of what the call does")
		r.Missing = t.missing
	}
	if n := len(t.effects); n > maxEffects {
		r.Rest = readRest(t.builder, t.effects[maxEffects:n:n])
		t.effects = t.effects[:maxEffects:maxEffects]
		t.unknown(t.from, "the call has more effects than are looked at")
	} else {
		r.Rest = readRest(t.builder, nil)
	}
	if r.Missing == "" {
		r.Missing = t.c.Incomplete
	}
	if r.Missing != "" {
		r.Completeness = Partial
		if t.silent() {
			r.Completeness = None
		}
	}
	r.Effects, r.Hints, r.Defects, r.Folders, r.Activated, r.After = t.effects, t.hints, t.defects, t.left, t.activated, t.after()
	return r
}

// silent reports whether neither input nor claims say anything of the call.
func (t *tool) silent() bool {
	cl := &t.c.Claims
	return t.have == inputAbsent && t.id.name == "" && cl.Title == "" && len(cl.Locations) == 0 &&
		len(cl.Diffs) == 0 && len(t.c.Marks) == 0 && (cl.Kind == "" || cl.Kind == "other")
}
