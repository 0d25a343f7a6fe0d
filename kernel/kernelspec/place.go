package kernelspec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Place says for whom a kernel is installed. At most one field is set; the zero value is the user.
type Place struct {
	User      bool   // this user, in all environments
	SysPrefix bool   // the active Python environment
	Prefix    string // whatever has share/jupyter below this folder
}

// DataDir gives the Jupyter data folder of a place. For SysPrefix the environment is the one that VIRTUAL_ENV or
// CONDA_PREFIX names, else that of the python3 in the path.
func (p Place) DataDir(ctx context.Context) (string, error) {
	set := 0
	for _, b := range []bool{p.User, p.SysPrefix, p.Prefix != ""} {
		if b {
			set++
		}
	}
	switch {
	case set > 1:
		return "", errors.New("choose a place for the kernel: only one of --user, --sys-prefix and --prefix can be given")
	case p.Prefix != "":
		prefix, err := filepath.Abs(p.Prefix)
		if err != nil {
			return "", fmt.Errorf("find the prefix %s: %w", p.Prefix, err)
		}
		return below(prefix), nil
	case p.SysPrefix:
		prefix, err := sysPrefix(ctx)
		if err != nil {
			return "", err
		}
		return below(prefix), nil
	}
	home, err := os.UserHomeDir()
	if err != nil && os.Getenv("JUPYTER_DATA_DIR") == "" {
		return "", fmt.Errorf("find the user's Jupyter folder: %w (JUPYTER_DATA_DIR can name it)", err)
	}
	return userDataDir(runtime.GOOS, home, os.Getenv), nil
}

func below(prefix string) string { return filepath.Join(prefix, "share", "jupyter") }

// userDataDir follows jupyter_core's jupyter_data_dir.
func userDataDir(goos, home string, getenv func(string) string) string {
	if dir := getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir
	}
	if goos == "darwin" {
		switch strings.ToLower(getenv("JUPYTER_PLATFORM_DIRS")) {
		case "", "0", "no", "n", "false", "off":
			return filepath.Join(home, "Library", "Jupyter")
		}
		return filepath.Join(home, "Library", "Application Support", "Jupyter")
	}
	data := getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "jupyter")
}

// sysPrefix gives the prefix of the active Python environment.
func sysPrefix(ctx context.Context) (string, error) {
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		dir := os.Getenv(name)
		if dir == "" {
			continue
		}
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return "", fmt.Errorf("find the Python environment: %s is %s, which is not a folder (activate the environment again)", name, dir)
		}
		return filepath.Abs(dir)
	}
	for _, name := range []string{"python3", "python"} {
		python, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, python, "-c", "import sys; print(sys.prefix)")
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		prefix := strings.TrimRight(string(out), "\r\n")
		if err != nil || !filepath.IsAbs(prefix) {
			return "", fmt.Errorf("find the Python environment: %s does not tell its prefix: %v %q %s", python, err, prefix, said.String())
		}
		return prefix, nil
	}
	return "", errors.New("find the Python environment: no VIRTUAL_ENV or CONDA_PREFIX is set and no python3 is in the path (activate an environment, or use --user or --prefix)")
}
