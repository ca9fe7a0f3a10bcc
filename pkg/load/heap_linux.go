package load

import (
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
)

const (
	// heapAhead is more than a run of the catalogue's profiles ever holds, and one after
	// the other. What is not used of it is address space and no memory.
	heapAhead = 640 << 20
	// heapPiece is what is asked for at once. The runtime clears a piece that begins in
	// memory that was in use before, and all of it then is memory: the whole heap, if it
	// were one piece.
	heapPiece = 4 << 20
)

// useHugePages backs the heap that a run on the virtual clock will need with huge pages
// (Linux, transparent huge pages, Documentation/admin-guide/mm/transhuge.rst). Such a run
// is over within a second or two, and on a virtual machine a third of that went into
// faults of 4 KiB pages that were touched for the first time: BenchmarkCell, or the
// user and system time of `bg-load run` on target model. The runtime asks for none by
// itself and takes addresses that were freed before new ones. A kernel that refuses
// changes nothing. It is done once a process: what was used already would be cleared.
var useHugePages = sync.OnceFunc(func() {
	percent := debug.SetGCPercent(-1)
	var ahead [heapAhead / heapPiece][]byte
	for i := range ahead {
		ahead[i] = make([]byte, heapPiece)
		_ = syscall.Madvise(ahead[i], syscall.MADV_HUGEPAGE)
	}
	runtime.KeepAlive(&ahead)
	debug.SetGCPercent(percent)
	runtime.GC() // frees it; the heap has next to nothing else yet
})
