// Package docs holds no code: its tests keep the pages, and the README, to the tools.
//
// Every fenced block of language sh is run, in order, in a folder of its own for each
// page, with the tools built from this tree. A comment before a block says otherwise:
//
//	<!-- not run: WHY -->     the commands are only parsed and their flags looked up
//	<!-- before: COMMANDS --> what is run first and readers need not see
//
// Commands in running text have their flags looked up, links are followed, and the pages
// that are made of the code (configuration.md, files.md, the table of scenarios.md) are
// written by
//
//	go test ./docs -update
package docs
