package tables

import (
	"bytes"
	"fmt"
	"go/constant"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// identifier turns an import path into a part of a Go identifier: math/rand/v2 becomes math_rand_v2.
func identifier(path string) string {
	return strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(path)
}

// A symbolWriter writes the table of one package.
type symbolWriter struct {
	pkg      *types.Package
	imports  map[string]string // path to local name
	entries  map[string]string // symbol to expression
	wrappers bytes.Buffer
}

func symbolFile(pkg *types.Package) ([]byte, error) {
	w := &symbolWriter{pkg: pkg, imports: map[string]string{}, entries: map[string]string{}}
	for _, name := range pkg.Scope().Names() {
		if object := pkg.Scope().Lookup(name); object.Exported() {
			if err := w.object(object); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if len(w.entries) == 0 {
		w.imports[pkg.Path()] = "_" // what importing it does must still happen
	}
	b := header()
	b.WriteString("//lint:file-ignore SA1019 What is deprecated is still there to be used.\n\n")
	b.WriteString("package stdlib\n\nimport (\n")
	for _, path := range sortedKeys(w.imports) {
		fmt.Fprintf(b, "%s %q\n", w.imports[path], path)
	}
	fmt.Fprintf(b, ")\n\nvar symbols_%s = []symbol{\n", identifier(pkg.Path()))
	for _, name := range sortedKeys(w.entries) {
		fmt.Fprintf(b, "{%q, %s},\n", name, w.entries[name])
	}
	b.WriteString("}\n")
	b.Write(w.wrappers.Bytes())
	return b.Bytes(), nil
}

// qualify names a package in the file being written, importing it under a name that no other import has.
func (w *symbolWriter) qualify(pkg *types.Package) string {
	if name, ok := w.imports[pkg.Path()]; ok {
		return name
	}
	name := pkg.Name()
	for taken := true; taken; {
		taken = false
		for _, other := range w.imports {
			if other == name {
				name, taken = name+"_", true
			}
		}
	}
	w.imports[pkg.Path()] = name
	return name
}

// object adds a symbol as an expression that the compiler can lay out as static data, so that the tables cost no work
// when the program starts: a function, a nil pointer to a type, the address of a variable, a constant.
func (w *symbolWriter) object(object types.Object) error {
	name := object.Name()
	switch object := object.(type) {
	case *types.Func:
		if object.Signature().TypeParams().Len() == 0 {
			w.entries[name] = w.qualify(w.pkg) + "." + name
		}
	case *types.Var:
		w.entries[name] = "&" + w.qualify(w.pkg) + "." + name
	case *types.Const:
		w.entries[name] = w.constant(object)
	case *types.TypeName:
		return w.typeName(object)
	default:
		return fmt.Errorf("unknown kind of object: %T", object)
	}
	return nil
}

// constant gives a typed constant by name and an untyped one by its exact value, which may fit no Go type.
func (w *symbolWriter) constant(c *types.Const) string {
	basic, ok := c.Type().(*types.Basic)
	if !ok || basic.Info()&types.IsUntyped == 0 {
		return w.qualify(w.pkg) + "." + c.Name()
	}
	value := c.Val()
	switch basic.Kind() {
	case types.UntypedBool:
		return strconv.FormatBool(constant.BoolVal(value))
	case types.UntypedString:
		return fmt.Sprintf("untypedString(%q)", constant.StringVal(value))
	case types.UntypedInt, types.UntypedRune:
		value = constant.ToInt(value)
		if small, exact := constant.Int64Val(value); exact {
			return fmt.Sprintf("untypedInt(%d)", small)
		}
		return fmt.Sprintf("untypedBigInt(%q)", value.ExactString())
	default:
		return fmt.Sprintf("untypedFloat(%q)", constant.ToFloat(value).ExactString())
	}
}

func (w *symbolWriter) typeName(t *types.TypeName) error {
	if generic(t.Type()) {
		return nil
	}
	iface, isInterface := t.Type().Underlying().(*types.Interface)
	if isInterface && !iface.IsMethodSet() {
		return nil // a constraint, not a type of values
	}
	w.entries[t.Name()] = fmt.Sprintf("(*%s.%s)(nil)", w.qualify(w.pkg), t.Name())
	if isInterface && iface.NumMethods() > 0 {
		return w.wrapper(t.Name(), iface)
	}
	return nil
}

func generic(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.TypeParams().Len() > 0
	case *types.Alias:
		return t.TypeParams().Len() > 0
	}
	return false
}

// wrapper writes the struct through which yaegi hands a value of an interpreted type to compiled code as an interface:
// the value itself first, then for each method M a function field WM. A method that is not exported cannot be given;
// an interface with such a method cannot be implemented outside its package, so its wrapper is never used, but yaegi
// looks it up without asking.
func (w *symbolWriter) wrapper(name string, iface *types.Interface) error {
	wrapper := "wrap_" + identifier(w.pkg.Path()) + "_" + name
	var fields, methods bytes.Buffer
	for method := range iface.Methods() {
		if !method.Exported() {
			continue
		}
		params, args, err := w.parameters(method.Signature())
		if err != nil {
			return fmt.Errorf("method %s: %w", method.Name(), err)
		}
		results, err := w.results(method.Signature())
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
	fmt.Fprintf(&w.wrappers, "\n// %s makes an interpreted value a %s.%s.\ntype %s struct {\nIValue any\n%s}\n\n%s",
		wrapper, w.pkg.Path(), name, wrapper, &fields, &methods)
	w.entries["_"+name] = fmt.Sprintf("(*%s)(nil)", wrapper)
	return nil
}

func (w *symbolWriter) parameters(s *types.Signature) (params, args string, err error) {
	var p, a []string
	for i := range s.Params().Len() {
		t := s.Params().At(i).Type()
		arg, spread, prefix := "a"+strconv.Itoa(i), "", ""
		if s.Variadic() && i == s.Params().Len()-1 {
			t, prefix, spread = t.(*types.Slice).Elem(), "...", "..."
		}
		text, err := w.typeText(t)
		if err != nil {
			return "", "", err
		}
		p, a = append(p, arg+" "+prefix+text), append(a, arg+spread)
	}
	return strings.Join(p, ", "), strings.Join(a, ", "), nil
}

func (w *symbolWriter) results(s *types.Signature) (string, error) {
	var r []string
	for v := range s.Results().Variables() {
		text, err := w.typeText(v.Type())
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

func (w *symbolWriter) typeText(t types.Type) (string, error) {
	var hidden string
	text := types.TypeString(t, func(pkg *types.Package) string {
		if !importable(pkg.Path()) {
			hidden = pkg.Path()
		}
		return w.qualify(pkg)
	})
	if hidden != "" {
		return "", fmt.Errorf("its type %s names the internal package %s", t, hidden)
	}
	return text, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
