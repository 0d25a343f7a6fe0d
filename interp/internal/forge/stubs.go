package forge

import (
	"fmt"
	"sync"
	"unsafe"
)

// A method table holds code addresses, not closures, and the code gets no more than the receiver and the arguments. So
// there are some thousand entries of code, each of which goes on in the closure that stands at its number in contexts.

const stubCount = 8192

var (
	contexts  [stubCount]unsafe.Pointer
	stubBase  uintptr // address of the first entry
	stubMutex sync.Mutex
	stubsUsed int
)

//lint:ignore U1000 the assembly files hold it, and take its address
func stubs() // the entries

// stub gives an entry for a closure. There is no way to give it back: a type that was once in an interface may be met
// as long as the process lives.
func stub(closure unsafe.Pointer) (int, error) {
	stubMutex.Lock()
	defer stubMutex.Unlock()
	if stubsUsed == stubCount {
		return 0, fmt.Errorf("too many methods were declared in this session (%d): restart it", stubCount)
	}
	i := stubsUsed
	stubsUsed++
	contexts[i] = closure
	return i, nil
}

func stubAddress(i int) unsafe.Pointer {
	p := stubBase + uintptr(i)*16
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}
