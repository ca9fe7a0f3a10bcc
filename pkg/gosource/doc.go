// Package gosource reads what the comments in Go files say about the fields of types,
// so that reference pages and the JSON Schema are made of the same words that stand
// beside the code. The tests that write those pages call it; no tool does, for a tool
// has no sources.
//
//	c, err := gosource.Read("../pkg/spec")
//	c.Meaning(reflect.TypeFor[spec.Profile](), "MaxModelLen", "yaml")
package gosource
