package spec

import "regexp"

// Names become file names, metric labels and Make words.
var safeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (p *problems) name(path, name string) {
	switch {
	case name == "":
		p.addf(path, "found nothing, expected a name")
	case !safeName.MatchString(name):
		p.addf(path, "found %q, expected up to 63 letters, digits, dots, underscores and hyphens that begin with a letter or a digit", name)
	}
}
