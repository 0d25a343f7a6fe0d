package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	// What the binary under test is made of, so that go test runs anew when one of these has changed.
	_ "github.com/gorovod/gorovod/interp"
	_ "github.com/gorovod/gorovod/launch"
	_ "github.com/gorovod/gorovod/worker"
)

const (
	programsFile   = "testdata/programs.tsv"
	shortfallsFile = "testdata/shortfalls.tsv"
)

var (
	update   = flag.Bool("update", false, "take out of "+shortfallsFile+" what has become better")
	binary   = flag.String("gorovod", "", "judge this `binary` instead of one built for the test")
	only     = flag.String("programs", "", "run only the programs whose name matches the `regexp`")
	parallel = flag.Int("at-once", 2, "run `N` programs at a time")
)

// TestConformance runs every program of the list.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	folder := goTests(t)
	programs := listed(t)
	known, there, err := loadShortfalls(shortfallsFile)
	if err != nil {
		t.Fatal(err)
	}
	r := runner{gorovod: gorovod(t), folder: folder, scratch: t.TempDir(), limit: programTime}
	verdicts, reasons := judgeAll(t, r, programs, *parallel)
	again(t, r, known.worse(programs, verdicts), verdicts, reasons)
	report(t, programs, verdicts, reasons)
	if !there && *update && *only == "" {
		known = shortfalls(verdicts)
	}
	for _, name := range known.worse(programs, verdicts) {
		t.Errorf("%s is %s, but was %s: %s", name, verdicts[name], known[name], reasons[name])
	}
	smaller, better := known.shrink(verdicts)
	switch {
	case *update:
		if err := smaller.write(shortfallsFile, programs); err != nil {
			t.Fatal(err)
		}
	case better > 0:
		t.Logf("%d programs do better than %s says: run this test with -update", better, shortfallsFile)
	}
}

// goTests gives the folder of Go's own tests. Not every installation of Go has it; where the project is tested for
// a release, it must be there.
func goTests(t *testing.T) string {
	t.Helper()
	output, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("asking go for its GOROOT: %v", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(output)), "test")
	if _, err := os.Stat(filepath.Join(folder, "helloworld.go")); err != nil {
		missing := fmt.Sprintf("this installation of Go comes without its tests (%v); one from go.dev/dl has them", err)
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return folder
}

// listed gives the programs to run.
func listed(t *testing.T) []program {
	t.Helper()
	programs, err := readFile(programsFile, readPrograms)
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		t.Fatalf("-programs: %v", err)
	}
	var chosen []program
	for _, p := range programs {
		if pattern.MatchString(p.name) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		t.Fatalf("no program of %s matches %q", programsFile, *only)
	}
	return chosen
}

// gorovod gives the binary to judge, built as the Makefile does.
func gorovod(t *testing.T) string {
	t.Helper()
	if *binary != "" {
		path, err := filepath.Abs(*binary)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := filepath.Join(t.TempDir(), "gorovod")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "../../cmd/gorovod")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building gorovod: %v\n%s", err, output)
	}
	return path
}

// judgeAll runs the programs, a few at a time.
func judgeAll(t *testing.T, r runner, programs []program, atOnce int) (map[string]verdict, map[string]string) {
	t.Helper()
	var (
		lock     sync.Mutex
		verdicts = map[string]verdict{}
		reasons  = map[string]string{}
		workers  sync.WaitGroup
		next     = make(chan program)
	)
	for range max(atOnce, 1) {
		workers.Go(func() {
			for p := range next {
				v, reason, err := r.run(context.Background(), p.name)
				if err != nil {
					t.Error(err)
				}
				lock.Lock()
				verdicts[p.name], reasons[p.name] = v, reason
				lock.Unlock()
			}
		})
	}
	for _, p := range programs {
		next <- p
	}
	close(next)
	workers.Wait()
	return verdicts, reasons
}

// again runs programs that did worse than is known once more, by themselves and with patience: several of the suite
// depend on time or on when the garbage collector comes, and the machine may have been busy. When many did worse, that
// is not why.
func again(t *testing.T, r runner, names []string, verdicts map[string]verdict, reasons map[string]string) {
	t.Helper()
	const most = 40
	if len(names) > most {
		return
	}
	programs := make([]program, len(names))
	for i, name := range names {
		programs[i].name = name
	}
	r.limit = patience
	second, why := judgeAll(t, r, programs, 1)
	for name, v := range second {
		if v < verdicts[name] {
			verdicts[name], reasons[name] = v, why[name]
		}
	}
}

// report tells the figures, and names what is wrong, refused or lost.
func report(t *testing.T, programs []program, verdicts map[string]verdict, reasons map[string]string) {
	t.Helper()
	var count [wrong + 1]int
	var text strings.Builder
	alone, lost := 0, 0
	for _, p := range programs {
		v := verdicts[p.name]
		count[v]++
		note := ""
		if p.yaegi {
			alone++
			if v != right {
				lost++
				note = " (lost: yaegi alone runs it right)"
			}
		}
		if v != right {
			fmt.Fprintf(&text, "%-7s %s%s: %s\n", v, p.name, note, reasons[p.name])
		}
	}
	t.Logf("\n%s%d programs: %d right, %d refused, %d wrong; of the %d that yaegi alone runs right, %d are lost",
		&text, len(programs), count[right], count[refused], count[wrong], alone, lost)
}
