package interp

import (
	"context"
	"testing"

	yaegi "github.com/traefik/yaegi/interp"

	"github.com/gorovod/gorovod/interp/internal/stdlib"
)

// What the language costs beside bare yaegi: the same loops, in both. `make bench` prints the ratios.
var speedCases = []struct{ name, decls, body string }{
	{"loop", "", "s := 0.0; for i := 0; i < 300000; i++ { s += float64(i) * 0.5 }"},
	{"calls", "func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }", "fib(20)"},
	{"slices", "", "a := make([]float64, 1000); for k := 0; k < 100; k++ { for i := 1; i < len(a); i++ { a[i] = a[i-1] + 1 } }"},
	{"maps", "", "m := map[int]int{}; for i := 0; i < 50000; i++ { m[i%100] += i }"},
	{"strings", "", "s := \"\"; for i := 0; i < 5000; i++ { s += \"x\"; if len(s) > 100 { s = s[50:] } }"},
	{"structs", "type P struct{ x, y float64 }\nfunc (p *P) move(d float64) { p.x += d; p.y -= d }", "p := &P{}; for i := 0; i < 50000; i++ { p.move(0.5) }"},
}

func BenchmarkSpeed(b *testing.B) {
	for _, c := range speedCases {
		b.Run(c.name+"/yaegi", func(b *testing.B) {
			i := yaegi.New(yaegi.Options{Unrestricted: true})
			x, _ := stdlib.Symbols("fmt")
			if err := i.Use(yaegi.Exports{"fmt/./fmt": x["fmt/fmt"]}); err != nil {
				b.Fatal(err)
			}
			if _, err := i.Eval("package main\n" + c.decls + "\nfunc bench() { " + c.body + " }"); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := i.Eval("bench()"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/gorovod", func(b *testing.B) {
			e, err := NewEvaluator(EvaluatorConfig{})
			if err != nil {
				b.Fatal(err)
			}
			n := NewNotebook()
			for _, text := range []string{c.decls + "\nfunc bench() { " + c.body + " }"} {
				cell, err := n.Check("cell[1]", text)
				if err != nil {
					b.Fatal(err)
				}
				if o := e.Eval(context.Background(), cell.Unit); o.Failure != nil {
					b.Fatal(o.Failure)
				}
				cell.Commit()
			}
			for b.Loop() {
				if _, err := e.yaegi.Eval("bench()"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
