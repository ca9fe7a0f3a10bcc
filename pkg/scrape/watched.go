package scrape

import (
	"os"
	"time"
)

// Watched is a Refresh that reads endpoints from the file called path whenever it
// changes. While the file is gone or cannot be read, the endpoints stay.
func Watched(path string, read func(path string) ([]Endpoint, error)) func() ([]Endpoint, bool, error) {
	type version struct {
		at   time.Time
		size int64
	}
	look := func() (v version, ok bool) {
		about, err := os.Stat(path)
		if err != nil || !about.Mode().IsRegular() {
			return version{}, false
		}
		return version{about.ModTime(), about.Size()}, true
	}
	last, _ := look()
	return func() ([]Endpoint, bool, error) {
		now, ok := look()
		if !ok || now == last {
			return nil, false, nil
		}
		endpoints, err := read(path)
		if err != nil {
			return nil, false, nil
		}
		last = now
		return endpoints, true, nil
	}
}
