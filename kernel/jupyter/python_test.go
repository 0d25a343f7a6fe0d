package jupyter_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPythonClients drives the echo kernel with Jupyter's own clients (testdata/test_echo.py).
func TestPythonClients(t *testing.T) {
	python := jupyterPython(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	spec := map[string]any{
		"argv": []string{self, "{connection_file}"}, "display_name": "Echo", "language": "echo", "interrupt_mode": "message",
		"env": map[string]string{asKernel: "1"},
	}
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "jupyter", "kernels", "echo-test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kernel.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "test_echo.py")
	cmd.Dir = "testdata"
	cmd.Env = append(os.Environ(),
		"JUPYTER_PATH="+filepath.Join(home, "jupyter"), "JUPYTER_RUNTIME_DIR="+filepath.Join(home, "runtime"),
		"JUPYTER_TEST_LOG_DIR="+home, "XDG_DATA_HOME="+filepath.Join(home, "data"), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// jupyterPython gives a Python that has Jupyter's clients: that of the project's .venv, or the one that
// JUPYTER_TEST_PYTHON names.
func jupyterPython(t *testing.T) string {
	python := os.Getenv("JUPYTER_TEST_PYTHON")
	if python == "" {
		var err error
		if python, err = filepath.Abs(filepath.Join("..", "..", ".venv", "bin", "python")); err != nil {
			t.Fatal(err)
		}
	}
	reason := ""
	if _, err := os.Stat(python); err != nil {
		reason = "there is no " + python
	} else if out, err := exec.Command(python, "-c", "import jupyter_client, jupyter_kernel_test, nbclient").CombinedOutput(); err != nil {
		reason = python + " lacks Jupyter's clients: " + string(out)
	}
	if reason == "" {
		return python
	}
	reason += " (make a .venv with jupyter_client, jupyter_kernel_test and nbclient)"
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
	return ""
}
