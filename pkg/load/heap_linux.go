package load

import (
	"runtime"
	"sync"
	"syscall"
)

// heapAhead is more than a run of the catalogue's profiles ever holds. What is not used
// of it is address space and no memory.
const heapAhead = 256 << 20

// useHugePages backs the heap that a run on the virtual clock will need with huge pages
// (Linux, transparent huge pages, Documentation/admin-guide/mm/transhuge.rst). Such a run
// is over within a second or two, and on a virtual machine a third of that went into
// faults of 4 KiB pages that were touched for the first time: BenchmarkCell, or the
// user and system time of `bg-load run` on target model. The runtime asks for none by
// itself and takes addresses that were freed before new ones. A kernel that refuses
// changes nothing. It is done once a process: what was used already would be cleared.
var useHugePages = sync.OnceFunc(func() {
	ahead := make([]byte, heapAhead)
	_ = syscall.Madvise(ahead, syscall.MADV_HUGEPAGE)
	runtime.KeepAlive(ahead)
	runtime.GC() // frees it; the heap has next to nothing else yet
})
