package stdlib_test

import (
	"fmt"

	"github.com/gorovod/gorovod/interp/internal/stdlib"
	"github.com/traefik/yaegi/interp"
)

// An interpreter gets the packages that its code imports, with those that they need.
func Example() {
	i := interp.New(interp.Options{})
	for _, path := range append(stdlib.Needs("strings"), "strings") {
		symbols, _ := stdlib.Symbols(path)
		if err := i.Use(symbols); err != nil {
			fmt.Println(err)
		}
	}
	if _, err := i.Eval(`import "strings"`); err != nil {
		fmt.Println(err)
	}
	fmt.Println(i.Eval(`strings.ToUpper("gorovod")`))
	// Output: GOROVOD <nil>
}

func ExampleHas() {
	fmt.Println(stdlib.Has("sort", "Strings"), stdlib.Has("slices", "Sort"))
	// Output: true false
}

func ExampleByName() {
	fmt.Println(stdlib.ByName("rand"))
	// Output: [math/rand math/rand/v2 crypto/rand]
}

func ExampleDoc() {
	fmt.Println(stdlib.Doc("math", "Sqrt"))
	// Output:
	// Sqrt returns the square root of x.
	//
	// Special cases are:
	//
	//	Sqrt(+Inf) = +Inf
	//	Sqrt(±0) = ±0
	//	Sqrt(x < 0) = NaN
	//	Sqrt(NaN) = NaN
}
