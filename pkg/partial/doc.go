// Package partial writes files that appear under their name when they are whole: until
// then the bytes are in NAME.partial, which one process at a time has. A second one is
// refused, and what a killed one left is written over.
//
// What becomes of an unfinished file of rows is known to pkg/record, and of an unfinished
// folder to pkg/inputs and pkg/load; they hold it with Lock, too.
//
//	f, err := partial.Create("results.json")
//	if err != nil { ... }
//	defer f.Abandon() // after Commit nothing
//	...
//	return f.Commit()
package partial
