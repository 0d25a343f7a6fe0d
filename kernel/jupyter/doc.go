// Package jupyter speaks the Jupyter messaging protocol, version 5.4, on the kernel's side. It takes a connection file
// and a Handler, which is what a kernel is apart from the protocol: it runs a cell, completes, inspects. It gives the
// front end everything else: the five sockets, signatures, busy and idle, execution counts, history, comms, the queue
// of cells and its abort after an error. It knows nothing of Go, so that any evaluator can stand behind it.
//
// How messages flow:
//
//	shell    ──► execute requests ──► a queue ──► Handler.Execute, one at a time, in order
//	         ──► all others ──► answered at once, each on a goroutine, while a cell may run
//	control  ──► interrupt, shutdown, kernel_info: never behind a cell
//	stdin    ◄─► Output.Input and its answer
//	iopub    ◄── status, and what a cell writes through its Output
//	heartbeat    an echo of its own
//
// A cell's output goes through its Output, which may be used by many goroutines and after the cell has ended, so that
// what a cell's goroutines print later still lands in that cell. Text that comes in small pieces is put together for a
// few milliseconds; before any other message of the cell, and before its reply, it is sent.
//
// A message with a wrong signature, or with one that was seen before, is dropped and logged. Messages come from
// outside: whatever they hold, the kernel goes on.
package jupyter
