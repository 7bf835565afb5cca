package launchd

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library has both functions on every macOS.
const library = "/usr/lib/libSystem.B.dylib"

// maxSockets is more than permd's agent has of a name.
const maxSockets = 8

// activate calls int launch_activate_socket(const char *name, int **fds, size_t *cnt). It is
// called without cgo, so that it is checked where no library of macOS is.
func activate(name string) ([]int32, syscall.Errno, error) {
	lib, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", library, err)
	}
	// A function that is not there would have RegisterLibFunc panic.
	take, err := purego.Dlsym(lib, "launch_activate_socket")
	if err != nil {
		return nil, 0, fmt.Errorf("looking in %s: %w", library, err)
	}
	free, err := purego.Dlsym(lib, "free")
	if err != nil {
		return nil, 0, fmt.Errorf("looking in %s: %w", library, err)
	}
	var activateSocket func(name string, fds **int32, n *uintptr) int32
	var freeMemory func(p unsafe.Pointer)
	purego.RegisterFunc(&activateSocket, take)
	purego.RegisterFunc(&freeMemory, free)
	var first *int32
	var n uintptr
	if number := activateSocket(name, &first, &n); number != 0 {
		return nil, syscall.Errno(number), nil
	}
	if first == nil {
		return nil, 0, nil
	}
	defer freeMemory(unsafe.Pointer(first))
	all := unsafe.Slice(first, n)
	fds := append([]int32(nil), all...)
	if n > maxSockets {
		return fds, 0, fmt.Errorf("there are %d of it", n)
	}
	return fds, 0, nil
}
