package stdlib_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

// served tells which pattern of the default mux serves a path.
func served(path string) string {
	_, pattern := http.DefaultServeMux.Handler(httptest.NewRequest("GET", path, nil))
	return pattern
}

// servedAtStart is what the default mux serves before any test imports a package.
var servedAtStart = served("/debug/vars") + served("/debug/pprof/")

func TestDefaultServeMux(t *testing.T) {
	if servedAtStart != "" {
		t.Errorf("the default mux serves %s although nothing was imported", servedAtStart)
	}
	for path, of := range map[string]string{"/debug/vars": "expvar", "/debug/pprof/heap": "net/http/pprof"} {
		if _, ok := stdlib.Symbols(of); !ok || served(path) == "" {
			t.Errorf("the default mux does not serve %s after %s was imported", path, of)
		}
	}
}
