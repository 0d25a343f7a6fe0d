package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// program is a line of the list of programs.
type program struct {
	name  string // its path below GOROOT/test, with slashes
	yaegi bool   // yaegi alone runs it right
}

// readPrograms reads the list: lines `ok<TAB>name` or `fail<TAB>name`, and comments.
func readPrograms(r io.Reader) ([]program, error) {
	var programs []program
	seen := map[string]bool{}
	err := eachLine(r, func(line string) error {
		verdict, name, found := strings.Cut(line, "\t")
		if !found || name == "" || verdict != "ok" && verdict != "fail" {
			return fmt.Errorf("%q is not `ok` or `fail`, a tab and a name", line)
		}
		if seen[name] {
			return fmt.Errorf("%s is there twice", name)
		}
		seen[name] = true
		programs = append(programs, program{name, verdict == "ok"})
		return nil
	})
	return programs, err
}

// shortfalls are the programs that are known not to be right, with what they are instead.
type shortfalls map[string]verdict

// readShortfalls reads lines `refused<TAB>name` or `wrong<TAB>name`, and comments.
func readShortfalls(r io.Reader) (shortfalls, error) {
	known := shortfalls{}
	err := eachLine(r, func(line string) error {
		word, name, _ := strings.Cut(line, "\t")
		v, ok := map[string]verdict{refused.String(): refused, wrong.String(): wrong}[word]
		if !ok || name == "" {
			return fmt.Errorf("%q is not `refused` or `wrong`, a tab and a name", line)
		}
		if _, there := known[name]; there {
			return fmt.Errorf("%s is there twice", name)
		}
		known[name] = v
		return nil
	})
	return known, err
}

func eachLine(r io.Reader, f func(line string) error) error {
	scanner := bufio.NewScanner(r)
	for number := 1; scanner.Scan(); number++ {
		line := scanner.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return scanner.Err()
}

// readFile opens the file for one of the two readers above, and names it in what goes wrong.
func readFile[T any](path string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	file, err := os.Open(path)
	if err != nil {
		return none, err
	}
	defer file.Close()
	v, err := read(file)
	if err != nil {
		return none, fmt.Errorf("reading %s: %w", path, err)
	}
	return v, nil
}

// loadShortfalls gives the file's content, and false if there is no such file yet.
func loadShortfalls(path string) (known shortfalls, there bool, err error) {
	known, err = readFile(path, readShortfalls)
	if errors.Is(err, fs.ErrNotExist) {
		return shortfalls{}, false, nil
	}
	return known, err == nil, err
}

// shrink gives known without what has become better. It never adds or worsens a line.
func (known shortfalls) shrink(verdicts map[string]verdict) (smaller shortfalls, better int) {
	smaller = shortfalls{}
	for name, was := range known {
		now, tried := verdicts[name]
		if tried && now < was {
			better++
			was = now
		}
		if was != right {
			smaller[name] = was
		}
	}
	return smaller, better
}

// worse lists the programs that do worse than known says, in the order of the list of programs.
func (known shortfalls) worse(programs []program, verdicts map[string]verdict) []string {
	var names []string
	for _, p := range programs {
		if now, tried := verdicts[p.name]; tried && now > known[p.name] {
			names = append(names, p.name)
		}
	}
	return names
}

// write stores the lines in the order of the list of programs, the wrong ones first.
func (known shortfalls) write(path string, programs []program) error {
	var text strings.Builder
	text.WriteString(`# The programs of programs.tsv that gorovod does not run right: those it runs wrong, and those it refuses.
# This list may only shrink: the test fails when a program does worse than it says, and
# "go test ./tests/conformance -update" takes out what has become better.
`)
	for _, v := range []verdict{wrong, refused} {
		for _, p := range programs {
			if known[p.name] == v {
				fmt.Fprintf(&text, "%s\t%s\n", v, p.name)
			}
		}
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
