package spec

import "strconv"

// Chain is a row of arms, each of which is compared with the one before it: what a step
// from one to the next gains and what it costs. It is declared before any run. An
// experiment that was asked for other arms may lack some of them.
type Chain struct {
	Name string   `yaml:"name" json:"name"` // the name in the report
	Arms []string `yaml:"arms" json:"arms"` // each is compared with the one before it
}

func (e Experiment) chainProblems(is *problems) {
	var names names
	for i, c := range e.Chains {
		at := join("chains", strconv.Itoa(i))
		names.add(is, join(at, "name"), c.Name)
		is.check(len(c.Arms) >= 2, join(at, "arms"), "found %d, expected two or more arms", len(c.Arms))
		for k, arm := range c.Arms {
			path := join(join(at, "arms"), strconv.Itoa(k))
			is.name(path, arm)
			is.check(k == 0 || arm != c.Arms[k-1], path, "found %q once more, expected another arm than the one before", arm)
		}
	}
}
