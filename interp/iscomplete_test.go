package interp

import "testing"

func TestIsComplete(t *testing.T) {
	for _, test := range []struct{ text, status, indent string }{
		{"", "complete", ""},
		{"  \n\n", "complete", ""},
		{"x := 1", "complete", ""},
		{"x", "complete", ""},
		{"x, y", "complete", ""},
		{`fmt.Println("hello")`, "complete", ""},
		{"import \"fmt\"\nfunc f() {\n\tfmt.Println()\n}\nf()", "complete", ""},
		{"func f()", "complete", ""},
		{"package main", "complete", ""},
		{"L:", "complete", ""},
		{"x;", "complete", ""},
		{"return 3", "complete", ""},
		{"// a comment", "complete", ""},
		{"x := `a\nb`", "complete", ""},
		{"type T struct{ a int }", "complete", ""},
		{"switch x {\ncase 1:\n}", "complete", ""},

		{"func f() {", "incomplete", "\t"},
		{"func f() {\n\tfor {", "incomplete", "\t\t"},
		{"f(1,", "incomplete", "\t"},
		{"f(1,\n\t2", "incomplete", "\t"},
		{"x := 1 +", "incomplete", "\t"},
		{"x :=", "incomplete", "\t"},
		{"x.", "incomplete", "\t"},
		{"x, ", "incomplete", "\t"},
		{"import (", "incomplete", "\t"},
		{"import", "incomplete", "\t"},
		{"type T struct", "incomplete", "\t"},
		{"type T struct {\n\ta int", "incomplete", "\t"},
		{"switch x {\ncase 1:", "incomplete", "\t"},
		{"if x == 1 {\n} else", "incomplete", "\t"},
		{"if x == 1 {\n} else {", "incomplete", "\t"},
		{"x := `a", "incomplete", ""},
		{"/* a", "incomplete", ""},
		{"x := []int{", "incomplete", "\t"},
		{"x := map[string]int{\n\t\"a\": 1,", "incomplete", "\t"},
		{"go func() {", "incomplete", "\t"},

		{"x := )", "invalid", ""},
		{"f(]", "invalid", ""},
		{"x := \"a", "invalid", ""},
		{"for i := 0; i < 3; i++", "invalid", ""},
		{"a b", "invalid", ""},
		{"a b {", "invalid", ""},
		{"}", "invalid", ""},
		{"var x", "invalid", ""},
		{"x := 'ab'", "invalid", ""},
		{"func f(\n\treturn 1\n}", "invalid", ""},

		{"%cd /tmp", "complete", ""},
		{"$ ls", "complete", ""},
		{"%run f(hvd.Rank())", "complete", ""},
		{"%%run -np 4", "incomplete", ""},
		{"%%run -np 4\n", "incomplete", ""},
		{"%%run -np 4\nhvd.Rank()", "complete", ""},
		{"%%run -np 4\nfunc f() {", "incomplete", "\t"},
		{"%%run -np 4\n)", "invalid", ""},
		{"%cd x\n%%run\nx", "complete", ""},
		{"x\n%cd x", "invalid", ""},
	} {
		if status, indent := IsComplete(test.text); status != test.status || indent != test.indent {
			t.Errorf("%q is %s, indent %q; want %s, indent %q", test.text, status, indent, test.status, test.indent)
		}
	}
}

func FuzzIsComplete(f *testing.F) {
	for _, seed := range []string{"", "x := `", "func f() {", "%%run\nx", "f(1,", "\x00", "\"", "a, b", "/*", "é.", "package main\nvar x = 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		switch status, indent := IsComplete(text); {
		case status != statusComplete && status != statusIncomplete && status != statusInvalid:
			t.Errorf("the status is %q", status)
		case indent != "" && status != statusIncomplete:
			t.Errorf("a text that is %s has the indent %q", status, indent)
		}
	})
}
