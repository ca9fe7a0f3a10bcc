package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Await waits until a file is there.
func Await(ctx context.Context, file string) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := os.Stat(file)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("waiting for a file: %w", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
