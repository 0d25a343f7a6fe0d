package interp
import ("testing";"os";"fmt")
func TestZZ(t *testing.T) {
 b,_ := os.ReadFile(os.Getenv("ZZ"))
 n := NewNotebook()
 p, err := n.PlanFile("a.go", string(b))
 if err != nil { t.Fatal(err) }
 pr, err := p.Program(nil)
 if err != nil { t.Fatal(err) }
 if pr.Unit.Types != nil { fmt.Println(pr.Unit.Types.Source) }
 fmt.Println(pr.Unit.Source)
}
