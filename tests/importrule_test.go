// Package tests holds what crosses rooms: the import rule here, the end-to-end tests over the real
// kernel (e2e, kerneltest, notebooks: run by pytest), and the benchmarks (bench).
package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/gorovod/gorovod"

// anything marks a room that may import every other.
const anything = "*"

// rooms is the table "Rooms" of docs/design.md: which of our packages the packages of a room may
// import. A room's internal packages follow its rule, unless they have a line of their own. Packages
// of the same room are always allowed: Go itself refuses cycles.
var rooms = map[string][]string{
	"value":      {},
	"display":    {},
	"rendezvous": {},
	"hvd":        {"value", "rendezvous"},
	"interp":     {"value", "hvd", "display"},
	"worker":     {"rendezvous", "interp", "hvd", "value", "display"},
	// The worker's job description is what launch writes to an agent.
	"launch": {"rendezvous", "value", "interp", "worker"},
	// The session process is started and spoken to by the kernel itself.
	"kernel":         {"launch", "interp", "worker", "display", "value"},
	"kernel/jupyter": {},
	"cmd":            {anything},
	"tests":          {anything},
	"examples":       {anything},
}

// walled rooms may not import even from their own room: they could leave the project as they are.
var walled = map[string]bool{"kernel/jupyter": true}

// refusedNames say nothing about what a package does.
var refusedNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}

// TestImportRule reads the imports of every Go file, under any build constraint, and holds them
// against the table. Test files may use what they need to drive a room from outside.
func TestImportRule(t *testing.T) {
	root := ".."
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			if slices.Contains(refusedNames, name) {
				t.Errorf("%s: a package is named after what it does, not %q", file, name)
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		room := roomOf(folder)
		if room == "" {
			t.Errorf("%s: %q is in no room of the table", file, folder)
			return nil
		}
		seen[room] = true
		checkImports(t, file, folder, room)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) == 0 {
		t.Fatal("no Go file was found: the rule was not tested")
	}
}

// roomOf gives the longest entry of the table that folder lies in.
func roomOf(folder string) string {
	for dir := folder; dir != "."; dir = path.Dir(dir) {
		if _, ok := rooms[dir]; ok {
			return dir
		}
	}
	return ""
}

func checkImports(t *testing.T, file, folder, room string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	for _, spec := range parsed.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Errorf("%s: import %s: %v", file, spec.Path.Value, err)
			continue
		}
		rest, ours := strings.CutPrefix(target, module+"/")
		if !ours || allowed(folder, room, rest) {
			continue
		}
		t.Errorf("%s: %s may not import %s; it may import: %s", file, folder, rest, strings.Join(rooms[room], ", "))
	}
}

func allowed(folder, room, target string) bool {
	targetRoom := roomOf(target)
	if walled[room] {
		return targetRoom == room && folder != target
	}
	if slices.Contains(rooms[room], anything) || slices.Contains(rooms[room], targetRoom) {
		return true
	}
	return topRoom(targetRoom) == topRoom(room)
}

func topRoom(room string) string {
	top, _, _ := strings.Cut(room, "/")
	return top
}

// TestImportRuleRefuses shows that the rule sees what it must.
func TestImportRuleRefuses(t *testing.T) {
	tests := []struct {
		folder, target string
		want           bool
	}{
		{"launch", "rendezvous", true},
		{"launch", "kernel", false},
		{"launch/internal/hosts", "kernel", false},
		{"value", "display", false},
		{"rendezvous", "interp", false},
		{"interp", "rendezvous", false},
		{"interp/internal/lower", "interp/internal/check", true},
		{"kernel", "kernel/jupyter", true},
		{"kernel/jupyter", "kernel", false},
		{"kernel/jupyter", "value", false},
		{"kernel/jupyter/internal/wire", "kernel", false},
		{"cmd/gorovod", "kernel", true},
	}
	for _, test := range tests {
		if got := allowed(test.folder, roomOf(test.folder), test.target); got != test.want {
			t.Errorf("allowed(%s imports %s) = %v, want %v", test.folder, test.target, got, test.want)
		}
	}
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		for _, target := range rooms[room] {
			if _, ok := rooms[target]; !ok && target != anything {
				t.Errorf("the table lets %s import %s, which is no room", room, target)
			}
		}
	}
}

// programOnly is what launch may use of interp: the Program is an envelope to it.
var programOnly = []string{"Program", "UnmarshalProgram"}

// TestLaunchKnowsOnlyPrograms holds launch to "interp's Program" of the table.
func TestLaunchKnowsOnlyPrograms(t *testing.T) {
	files, err := filepath.Glob("../launch/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "interp" && !slices.Contains(programOnly, selector.Sel.Name) {
				t.Errorf("%s: launch uses interp.%s; it may use only %s",
					positions.Position(selector.Pos()), selector.Sel.Name, strings.Join(programOnly, ", "))
			}
			return true
		})
	}
}
