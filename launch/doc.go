// Package launch runs a Program on several processes and collects what each of them returns.
//
// [Run] takes a Program and [Options]. It places the ranks on slots, starts a rendezvous server that lives as long
// as the run, starts one agent per host, which starts one worker per slot, and gives back one [Result] per rank,
// ordered by rank, or the error that ended the run: a [*RunError] that names the root cause first, a
// [*TimeoutError], or the context's own.
//
// A run ends whole. The first rank that fails, the end of the context or a timeout ends it for all ranks, and when
// Run returns, every process that it started is gone, all they wrote was delivered, and no goroutine, signal
// handler, file or connection of it is left. It changes nothing that belongs to the process as a whole, so runs can
// go on side by side and be started from any goroutine.
//
// Options is the one structure that a notebook's magic, the command line and Go programs fill; [Options.AddFlags]
// and [Parse] are its spelling as flags.
package launch
