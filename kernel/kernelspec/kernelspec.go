// Package kernelspec tells Jupyter of a kernel. It takes what the kernel is and where it should be known, for this
// user, for one Python environment or below a prefix, and leaves a folder there with kernel.json and the logos that
// front ends show. Where Jupyter looks for such folders is Jupyter's rule, repeated here so that no Python is needed.
package kernelspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Spec is what Jupyter needs to know of a kernel, in the form of kernel.json.
type Spec struct {
	// Name is the folder's name, and so the kernel's name for Jupyter.
	Name            string            `json:"-"`
	Argv            []string          `json:"argv"` // "{connection_file}" stands for the connection file
	DisplayName     string            `json:"display_name"`
	Language        string            `json:"language"`
	InterruptMode   string            `json:"interrupt_mode,omitempty"` // "message" or "signal"
	ProtocolVersion string            `json:"kernel_protocol_version,omitempty"`
	Env             map[string]string `json:"env,omitempty"`
	Metadata        map[string]any    `json:"metadata"`
}

// Gorovod gives the spec of the gorovod kernel, which executable starts.
func Gorovod(executable string) Spec {
	return Spec{
		Name:            "gorovod",
		Argv:            []string{executable, "kernel", "{connection_file}"},
		DisplayName:     "Go (gorovod)",
		Language:        "go",
		InterruptMode:   "message",
		ProtocolVersion: "5.4",
		Metadata:        map[string]any{"debugger": false},
	}
}

// validName is Jupyter's own rule.
var validName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func (s Spec) check() error {
	if !validName.MatchString(s.Name) || s.Name == "." || s.Name == ".." {
		return fmt.Errorf("the name %q is not one for a kernel: Jupyter takes letters, digits and . _ -", s.Name)
	}
	if len(s.Argv) == 0 {
		return errors.New("it has no command")
	}
	exe := s.Argv[0]
	if !filepath.IsAbs(exe) {
		return fmt.Errorf("the executable %q must be an absolute path, because Jupyter starts it from any folder", exe)
	}
	if strings.Contains(filepath.ToSlash(exe), "/go-build") && strings.Contains(filepath.ToSlash(exe), "/exe/") {
		return fmt.Errorf("the executable %s is that of a \"go run\" and will soon be gone; build the program and run what was built", exe)
	}
	st, err := os.Stat(exe)
	if err != nil {
		return fmt.Errorf("the executable cannot be used: %w", err)
	}
	if st.IsDir() || st.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not an executable file", exe)
	}
	return nil
}

// Install writes the kernel's folder below a Jupyter data folder, over one of the same name, and gives its path.
// Files are put in place whole, kernel.json last, so that Jupyter never sees half a kernel.
func Install(dataDir string, s Spec) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("install the kernel %s under %s: %w", s.Name, dataDir, explain(err))
	}
	if err := s.check(); err != nil {
		return fail(err)
	}
	spec, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fail(err)
	}
	logos, err := logos()
	if err != nil {
		return fail(err)
	}
	dir := filepath.Join(dataDir, "kernels", s.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(err)
	}
	for name, data := range logos {
		if err := put(filepath.Join(dir, name), data); err != nil {
			return fail(err)
		}
	}
	if err := put(filepath.Join(dir, "kernel.json"), append(spec, '\n')); err != nil {
		return fail(err)
	}
	return dir, nil
}

// explain adds what to do to the error that is met most.
func explain(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (--user and --prefix install where you may write)", err)
	}
	return err
}

// put writes a file beside its place and moves it there.
func put(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // in vain when it was moved
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
