package spec

// fillProfile writes out the defaults of a profile that depend on what else it says,
// so that its catalogue's base.yaml cannot hold them: a phase is interactive, and a
// class that gives a part of its prompt gives the rest of that part as the profile has it.
func (t *tree) fillProfile() {
	interactive := t.fields["interactive"]
	for _, phase := range interactive.field("phases").list() {
		if phase.form == mappingForm && phase.fields["class"] == nil {
			phase.put("class", &tree{at: phase.at, scalar: ClassInteractive, text: ClassInteractive})
		}
	}
	for _, class := range []*tree{interactive, t.fields["batch"]} {
		own := class.field("prompt")
		if own == nil {
			continue
		}
		for _, part := range own.keys {
			if common := t.fields["prompt"].field(part); common != nil {
				own.put(part, common.clone().overlay(own.fields[part]))
			}
		}
	}
}

// field is a field of a mapping, nil where there is none.
func (t *tree) field(key string) *tree {
	if t == nil {
		return nil
	}
	return t.fields[key]
}

// list is the items of a list, none where t is not one.
func (t *tree) list() []*tree {
	if t == nil {
		return nil
	}
	return t.items
}
