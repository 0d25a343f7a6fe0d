package interp

import (
	"context"
	"strings"
	"testing"
)

func TestStdin(t *testing.T) {
	for _, code := range []string{
		"var a, b string\nfmt.Scanln(&a, &b)\na + b",
		"line, err := bufio.NewReader(os.Stdin).ReadString('\\n')\nif err != nil { panic(err) }\nstrings.ReplaceAll(strings.TrimSpace(line), \" \", \"\")",
		"s := bufio.NewScanner(os.Stdin)\ns.Scan()\nstrings.ReplaceAll(s.Text(), \" \", \"\")",
		"b := make([]byte, 5)\nn, _ := os.Stdin.Read(b)\nstrings.ReplaceAll(string(b[:n]), \" \", \"\")",
		"var a, b string\nfmt.Fscan(os.Stdin, &a, &b)\na + b",
	} {
		e, err := NewEvaluator(EvaluatorConfig{Stdin: strings.NewReader("on ce\n")})
		if err != nil {
			t.Fatal(err)
		}
		cell, err := NewNotebook().Check("cell[1]", code)
		if err != nil {
			t.Fatal(err)
		}
		o := e.Eval(context.Background(), cell.Unit)
		if o.Failure != nil || o.Bundle["text/plain"] != "once" {
			t.Errorf("%s\ngave %v, %v", code, o.Bundle, o.Failure)
		}
	}
}
