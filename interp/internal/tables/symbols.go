package tables

import (
	"bytes"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// Identifier turns an import path into a part of a Go identifier: math/rand/v2 becomes math_rand_v2.
func Identifier(path string) string {
	return strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(path)
}

// A Table is the symbol table of one package as Go source, for an embedding package to write down in its own way.
type Table struct {
	// Imports are what the file that holds the table imports: local name by path. A package without symbols is
	// imported as _, for what importing it does must still happen.
	Imports  map[string]string
	Entries  map[string]Entry // by symbol
	Wrappers []Wrapper        // sorted by interface
	pkg      *types.Package
}

// An Entry says what stands for a symbol. Expr is static data to the compiler, so that a table of them costs no work
// when the program starts: a function, a nil pointer to a type, the address of a variable, a typed constant, or a nil
// pointer to a wrapper. An untyped constant has its exact value in Const, which may fit no Go type.
type Entry struct {
	Expr     string
	Variable bool
	Const    *types.Const // nil for all but untyped constants
}

// A Wrapper is the struct through which yaegi hands a value of an interpreted type to compiled code as an interface.
type Wrapper struct {
	Name      string // of the struct
	Interface string // that it implements: path.Name
	Fields    string // after IValue, one for each method
	Methods   string // their declarations
}

// Source gives the declarations of the struct and its methods.
func (w Wrapper) Source() string {
	return fmt.Sprintf("\n// %s makes an interpreted value a %s.\ntype %s struct {\nIValue any\n%s}\n\n%s",
		w.Name, w.Interface, w.Name, w.Fields, w.Methods)
}

// Symbols gives the symbol table of a package. Generic functions and types have no symbols: reflection can hold only
// instances of them.
func (p *Package) Symbols() (*Table, error) {
	t := &Table{Imports: map[string]string{}, Entries: map[string]Entry{}, pkg: p.Types}
	for _, name := range p.Types.Scope().Names() {
		if object := p.Types.Scope().Lookup(name); object.Exported() {
			if err := t.object(object); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", p.ImportPath, name, err)
			}
		}
	}
	if len(t.Entries) == 0 {
		t.Imports[p.ImportPath] = "_"
	}
	return t, nil
}

// ImportDecl gives the import declaration.
func (t *Table) ImportDecl() string {
	var b strings.Builder
	b.WriteString("import (\n")
	for _, path := range SortedKeys(t.Imports) {
		fmt.Fprintf(&b, "%s %q\n", t.Imports[path], path)
	}
	b.WriteString(")\n")
	return b.String()
}

// qualify names a package in the file being written, importing it under a name that no other import has.
func (t *Table) qualify(pkg *types.Package) string {
	if name, ok := t.Imports[pkg.Path()]; ok {
		return name
	}
	name := pkg.Name()
	for taken := true; taken; {
		taken = false
		for _, other := range t.Imports {
			if other == name {
				name, taken = name+"_", true
			}
		}
	}
	t.Imports[pkg.Path()] = name
	return name
}

// object adds a symbol.
func (t *Table) object(object types.Object) error {
	name := object.Name()
	switch object := object.(type) {
	case *types.Func:
		if object.Signature().TypeParams().Len() == 0 {
			t.Entries[name] = Entry{Expr: t.member(name)}
		}
	case *types.Var:
		t.Entries[name] = Entry{Expr: "&" + t.member(name), Variable: true}
	case *types.Const:
		if basic, ok := object.Type().(*types.Basic); ok && basic.Info()&types.IsUntyped != 0 {
			t.Entries[name] = Entry{Const: object}
			break
		}
		t.Entries[name] = Entry{Expr: t.member(name)}
	case *types.TypeName:
		return t.typeName(object)
	default:
		return fmt.Errorf("unknown kind of object: %T", object)
	}
	return nil
}

func (t *Table) member(name string) string { return t.qualify(t.pkg) + "." + name }

func (t *Table) typeName(name *types.TypeName) error {
	if Generic(name.Type()) {
		return nil
	}
	iface, isInterface := name.Type().Underlying().(*types.Interface)
	if isInterface && !iface.IsMethodSet() {
		return nil // a constraint, not a type of values
	}
	t.Entries[name.Name()] = Entry{Expr: fmt.Sprintf("(*%s)(nil)", t.member(name.Name()))}
	if isInterface && iface.NumMethods() > 0 {
		return t.wrapper(name.Name(), iface)
	}
	return nil
}

// Generic tells whether a type has type parameters.
func Generic(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.TypeParams().Len() > 0
	case *types.Alias:
		return t.TypeParams().Len() > 0
	}
	return false
}

// wrapper makes the wrapper of an interface: the value itself first, then for each method M a function field WM. A
// method that is not exported cannot be given; an interface with such a method cannot be implemented outside its
// package, so its wrapper is never used, but yaegi looks it up without asking.
func (t *Table) wrapper(name string, iface *types.Interface) error {
	wrapper := "wrap_" + Identifier(t.pkg.Path()) + "_" + name
	var fields, methods bytes.Buffer
	for method := range iface.Methods() {
		if !method.Exported() {
			continue
		}
		params, args, err := t.parameters(method.Signature())
		if err != nil {
			return fmt.Errorf("method %s: %w", method.Name(), err)
		}
		results, err := t.results(method.Signature())
		if err != nil {
			return fmt.Errorf("method %s: %w", method.Name(), err)
		}
		fmt.Fprintf(&fields, "W%s func(%s) %s\n", method.Name(), params, results)
		fmt.Fprintf(&methods, "func (w %s) %s(%s) %s { ", wrapper, method.Name(), params, results)
		if method.Name() == "String" && params == "" {
			// A wrapper that is being filled may be printed, by a panic or a debugger.
			methods.WriteString("if w.WString == nil { return \"\" }\n")
		}
		if results != "" {
			methods.WriteString("return ")
		}
		fmt.Fprintf(&methods, "w.W%s(%s) }\n", method.Name(), args)
	}
	t.Wrappers = append(t.Wrappers, Wrapper{wrapper, t.pkg.Path() + "." + name, fields.String(), methods.String()})
	t.Entries["_"+name] = Entry{Expr: fmt.Sprintf("(*%s)(nil)", wrapper)}
	return nil
}

func (t *Table) parameters(s *types.Signature) (params, args string, err error) {
	var p, a []string
	for i := range s.Params().Len() {
		typ := s.Params().At(i).Type()
		arg, spread, prefix := "a"+strconv.Itoa(i), "", ""
		if s.Variadic() && i == s.Params().Len()-1 {
			typ, prefix, spread = typ.(*types.Slice).Elem(), "...", "..."
		}
		text, err := t.typeText(typ)
		if err != nil {
			return "", "", err
		}
		p, a = append(p, arg+" "+prefix+text), append(a, arg+spread)
	}
	return strings.Join(p, ", "), strings.Join(a, ", "), nil
}

func (t *Table) results(s *types.Signature) (string, error) {
	var r []string
	for v := range s.Results().Variables() {
		text, err := t.typeText(v.Type())
		if err != nil {
			return "", err
		}
		r = append(r, text)
	}
	if len(r) < 2 {
		return strings.Join(r, ""), nil
	}
	return "(" + strings.Join(r, ", ") + ")", nil
}

func (t *Table) typeText(typ types.Type) (string, error) {
	var hidden string
	text := types.TypeString(typ, func(pkg *types.Package) string {
		if !Importable(pkg.Path()) {
			hidden = pkg.Path()
		}
		return t.qualify(pkg)
	})
	if hidden != "" {
		return "", fmt.Errorf("its type %s names the internal package %s", typ, hidden)
	}
	return text, nil
}

// SortedKeys gives the keys of a map in order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
