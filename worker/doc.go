// Package worker is the processes that evaluate: a slot's worker, the notebook's own session, and the agent that
// holds the workers of a host.
//
// All three are the same executable, started in another role by [Main]. None of them is started by a person.
//
// The agent takes a [Job] on standard input: the slots of its host, where the driver's rendezvous server is, and the
// secret that opens it. It starts one worker per slot, each in a process group of its own, and posts what they
// write, in order, to the rendezvous server. Its input stays open while the run lasts: when it ends, whether the
// driver closed it or was killed, the agent kills every group and ends. A worker that ends without a word gets its
// obituary from the agent: exit code or signal, its last lines, whether memory ran out.
//
// A worker takes its slot from the agent over a pipe, the Program from the rendezvous server, gives the Program to
// the [Engine], and puts the value or the failure that comes of it.
//
// A session evaluates what a notebook's cells ask for, one after the other, and keeps their values. The kernel
// starts it with [StartSession] and talks with it over two pipes.
//
// Nothing secret stands in an argument list or in an environment, where other users or the user's own code could
// read it.
package worker
