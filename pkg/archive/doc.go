// Package archive carries folders over a stream, as tar.
//
// bg-deploy sends the inputs of a cell into a cluster and brings its results back with
// it. It is not a general archiver: only plain files and folders, and nothing outside
// the folder that is unpacked into.
package archive
