package stdlib

import (
	"archive/zip"
	_ "embed"
	"encoding/json"
	"sync"
)

//go:embed data/docs.zip
var docsArchive string

var (
	openDocs = sync.OnceValues(func() (*zip.Reader, error) { return openArchive(docsArchive) })
	docCache sync.Map // import path to map[string]string
)

// Doc gives the doc comment of a declaration of the standard library, as it is written but for the comment marks, or ""
// if there is none. The name is that of a function, type, constant or variable, or Type.Member for a method or field;
// the empty name is the package itself. The language's own names (len, error) are those of the package builtin.
func Doc(path, name string) string {
	comments, ok := docCache.Load(path)
	if !ok {
		if entry(path) == nil && path != "builtin" {
			return ""
		}
		comments, _ = docCache.LoadOrStore(path, readDocs(path))
	}
	return comments.(map[string]string)[name]
}

// readDocs gives no comments where it finds none: a hint for a reader is no reason to fail, and the tests hold that
// the archive is whole.
func readDocs(path string) map[string]string {
	comments := map[string]string{}
	archive, err := openDocs()
	if err != nil {
		return comments
	}
	f, err := archive.Open(path)
	if err != nil {
		return comments
	}
	defer f.Close()
	if err := json.NewDecoder(f).Decode(&comments); err != nil {
		return map[string]string{}
	}
	return comments
}
