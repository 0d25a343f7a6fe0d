package stdlib

import (
	"expvar"
	"net/http"
	"net/http/pprof"
	"sync"
)

// The packages expvar and net/http/pprof add handlers to net/http's default mux when a program imports them. This
// binary links both, but a cell that serves the default mux must not serve its command line, its memory and a profiler
// unless the cell itself imports them. So the default mux starts empty, and importing adds the handlers.
func init() { http.DefaultServeMux = http.NewServeMux() }

var (
	addExpvar = sync.OnceFunc(func() { http.Handle("GET /debug/vars", expvar.Handler()) })
	addPprof  = sync.OnceFunc(func() {
		http.HandleFunc("GET /debug/pprof/", pprof.Index)
		http.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		http.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		http.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		http.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	})
)

// useDefaultServeMux does what importing path does to the default mux.
func useDefaultServeMux(path string) {
	switch path {
	case "expvar":
		addExpvar()
	case "net/http/pprof":
		addPprof()
	}
}
