// Package rendezvous is where the ranks of a run and their driver meet: an
// HTTPS server that lives in the driver for the time of one run, and the
// client that workers and agents reach it with.
//
// It takes the Program of the run (bytes that it does not look into) and the
// slots of its ranks. It hands both to the ranks, carries their output, their
// state and their results or failures back, brings a cancellation down to
// them, and keeps a small key-value store through which they find each other.
// What comes in goes to the driver's [Events], rank by rank in order.
//
// # Trust
//
// A certificate is made for each server and known by its fingerprint, never
// by a name, so the server may listen on any address of any host and needs no
// authority. Every route asks for the run's bearer token before anything else
// of a request is looked at. Whoever has the token is a part of the run and is
// held only to the limits that keep one part from hurting another; whoever has
// not can cost the server a bounded number of connections for a bounded time,
// and the oldest of these connections gives way when a new one comes. So
// neither a thousand silent connections nor a client that sends a byte a
// second keeps a rank out.
//
// # Routes
//
//	GET            /healthz                  200
//	GET            /v1/program               the Program
//	GET            /v1/ranks/{rank}          Slot, as JSON
//	GET            /v1/ranks/{rank}/control  held open; {"cancel":"reason"} comes down it at most once
//	POST           /v1/ranks/{rank}/output   records, each one or more frames; see Record
//	PUT            /v1/ranks/{rank}/result   the rank's value; once
//	PUT            /v1/ranks/{rank}/failure  Failure, as JSON; once, and not after a result
//	GET PUT DELETE /v1/kv/{scope}/{key}      a value; GET ?wait=10s waits until it is there
//
// Errors are problem documents (RFC 9457).
package rendezvous
