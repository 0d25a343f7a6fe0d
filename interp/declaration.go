package interp

import (
	"go/types"
	"strings"
)

// declaration writes an object the way it would be declared.
func (f *focus) declaration(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func:
		signature := strings.TrimPrefix(f.typeText(obj.Type()), "func")
		if recv := obj.Signature().Recv(); recv != nil {
			return "func " + f.receiver(recv) + " " + obj.Name() + signature
		}
		return "func " + obj.Name() + signature
	case *types.Var:
		if obj.IsField() {
			return "field " + obj.Name() + " " + f.typeText(obj.Type())
		}
		return "var " + obj.Name() + " " + f.typeText(obj.Type())
	case *types.Const:
		text := "const " + obj.Name()
		if basic, ok := obj.Type().(*types.Basic); !ok || basic.Info()&types.IsUntyped == 0 {
			text += " " + f.typeText(obj.Type())
		}
		return text + " = " + obj.Val().String()
	case *types.TypeName:
		return f.typeDeclaration(obj)
	case *types.Builtin:
		if signature := builtins[obj.Name()]; signature != "" {
			return "func " + obj.Name() + signature
		}
		return "func " + obj.Name()
	}
	return obj.Name()
}

func (f *focus) receiver(recv *types.Var) string {
	if recv.Name() == "" {
		return "(" + f.typeText(recv.Type()) + ")"
	}
	return "(" + recv.Name() + " " + f.typeText(recv.Type()) + ")"
}

// typeDeclaration writes a type with the fields or methods that can be used here, one on each line.
func (f *focus) typeDeclaration(name *types.TypeName) string {
	head := "type " + name.Name()
	t := name.Type()
	if name.IsAlias() {
		if a, ok := t.(*types.Alias); ok {
			t = a.Rhs()
		}
		return head + " = " + f.typeText(t)
	}
	if named, ok := t.(*types.Named); ok {
		head += f.parameters(named.TypeParams())
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if name.Pkg() == nil {
			return head
		}
	case *types.Struct:
		return head + " struct " + f.block(f.fieldLines(u))
	case *types.Interface:
		return head + " interface " + f.block(f.interfaceLines(u))
	}
	return head + " " + f.typeText(t.Underlying())
}

func (f *focus) parameters(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var parts []string
	for p := range list.TypeParams() {
		parts = append(parts, p.Obj().Name()+" "+f.typeText(p.Constraint()))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (f *focus) block(lines []string) string {
	if len(lines) == 0 {
		return "{}"
	}
	return "{\n\t" + strings.Join(lines, "\n\t") + "\n}"
}

func (f *focus) fieldLines(s *types.Struct) []string {
	var lines []string
	hidden := false
	for field := range s.Fields() {
		switch {
		case !f.visible(field):
			hidden = true
		case field.Embedded():
			lines = append(lines, f.typeText(field.Type()))
		default:
			lines = append(lines, field.Name()+" "+f.typeText(field.Type()))
		}
	}
	if hidden {
		lines = append(lines, "// and fields that are not exported")
	}
	return lines
}

func (f *focus) interfaceLines(t *types.Interface) []string {
	var lines []string
	for e := range t.EmbeddedTypes() {
		lines = append(lines, f.typeText(e))
	}
	for m := range t.ExplicitMethods() {
		lines = append(lines, m.Name()+strings.TrimPrefix(f.typeText(m.Type()), "func"))
	}
	return lines
}

// methods gives the methods that can be called on a variable of a type, in lines; an interface has said its own.
func (f *focus) methods(t types.Type) []string {
	if types.IsInterface(t) {
		return nil
	}
	var lines []string
	for sel := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if f.visible(sel.Obj()) {
			lines = append(lines, f.declaration(sel.Obj()))
		}
	}
	return lines
}

// builtins are the parameters and results of the language's functions, which have no type of Go's.
var builtins = map[string]string{
	"append":  "(slice []Type, elems ...Type) []Type",
	"cap":     "(v Type) int",
	"clear":   "(t Type)",
	"close":   "(c chan<- Type)",
	"complex": "(r, i FloatType) ComplexType",
	"copy":    "(dst, src []Type) int",
	"delete":  "(m map[Type]Type1, key Type)",
	"imag":    "(c ComplexType) FloatType",
	"len":     "(v Type) int",
	"make":    "(t Type, size ...IntegerType) Type",
	"max":     "(x T, y ...T) T",
	"min":     "(x T, y ...T) T",
	"new":     "(Type) *Type",
	"panic":   "(v any)",
	"print":   "(args ...Type)",
	"println": "(args ...Type)",
	"real":    "(c ComplexType) FloatType",
	"recover": "() any",
}
