//go:build !linux

package load

// useHugePages does nothing where the system decides by itself.
func useHugePages() {}
