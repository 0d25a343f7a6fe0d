// Package kernel is the Go kernel that stands behind the Jupyter protocol: a jupyter.Handler that takes the cells of a
// notebook and gives what they show.
//
// It evaluates no code itself. A cell is taken apart into its special lines and its Go code. The Go code is checked
// against the notebook by package interp and evaluated by the session, a process of its own that package worker starts
// and that may die without harm to the kernel: it is then replaced, and the declarations of the notebook are brought
// into the new one. A cell that begins with %%run, or an expression behind %run, becomes a Program that package launch
// runs on several processes; the values that it captures come from the session, and its results go there.
//
//	cell ──► special lines ──► %cd, $ command, NAME?, …
//	     ──► %%run, %run   ──► interp.Plan ──► session: values ──► launch.Run ──► session: results
//	     ──► Go code       ──► interp.Check ──► session
//
// What the session writes, also between cells, is shown in the cell that runs, or in the last one that did.
package kernel
