package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate holds the committed files to what the packages' source says now.
func TestUpToDate(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("interp/internal/ours/%s is not what the packages' source says (%v): run go generate ./interp/internal/ours", name, err)
		}
	}
}
