package kernelspec

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// program makes an executable file.
func program(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInstall(t *testing.T) {
	exe := program(t, filepath.Join(t.TempDir(), "with space", "gorovod"), "")
	data := filepath.Join(t.TempDir(), "share", "jupyter")
	for range 2 { // the second time over the first
		dir, err := Install(data, Gorovod(exe))
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(data, "kernels", "gorovod"); dir != want {
			t.Errorf("installed in %s, want %s", dir, want)
		}
		text, err := os.ReadFile(filepath.Join(dir, "kernel.json"))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"argv":         []any{exe, "kernel", "{connection_file}"},
			"display_name": "Go (gorovod)", "language": "go", "interrupt_mode": "message",
			"kernel_protocol_version": "5.4", "metadata": map[string]any{"debugger": false},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		var names []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
			if st, _ := e.Info(); st.Mode().Perm() != 0o644 {
				t.Errorf("%s has mode %v", e.Name(), st.Mode())
			}
		}
		if diff := cmp.Diff([]string{"kernel.json", "logo-32x32.png", "logo-64x64.png", "logo-svg.svg"}, names); diff != "" {
			t.Error(diff)
		}
	}
}

func TestInstallErrors(t *testing.T) {
	dir := t.TempDir()
	exe := program(t, filepath.Join(dir, "gorovod"), "")
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	with := func(change func(*Spec)) Spec {
		s := Gorovod(exe)
		change(&s)
		return s
	}
	tests := map[string]struct {
		spec Spec
		data string
		want string
	}{
		"relative":       {Gorovod("bin/gorovod"), dir, "must be an absolute path"},
		"missing":        {Gorovod(filepath.Join(dir, "none")), dir, "cannot be used"},
		"not executable": {Gorovod(plain), dir, "is not an executable file"},
		"a folder":       {Gorovod(dir), dir, "is not an executable file"},
		"of go run":      {Gorovod(program(t, filepath.Join(dir, "go-build12", "b001", "exe", "gorovod"), "")), dir, `"go run"`},
		"name":           {with(func(s *Spec) { s.Name = "../x" }), dir, `"../x"`},
		"no name":        {with(func(s *Spec) { s.Name = "" }), dir, `""`},
		"dots":           {with(func(s *Spec) { s.Name = ".." }), dir, `".."`},
		"no command":     {with(func(s *Spec) { s.Argv = nil }), dir, "no command"},
		"below a file":   {Gorovod(exe), plain, "under " + plain},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Install(tt.data, tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "install the kernel") {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "kernels")); err == nil {
		t.Error("something was installed")
	}
	if err := explain(&os.PathError{Op: "mkdir", Path: "/x", Err: os.ErrPermission}); !strings.Contains(err.Error(), "--user") || !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
}

func TestUserDataDir(t *testing.T) {
	tests := map[string]struct {
		goos string
		env  map[string]string
		want string
	}{
		"linux":               {"linux", nil, "/home/u/.local/share/jupyter"},
		"linux, XDG":          {"linux", map[string]string{"XDG_DATA_HOME": "/data"}, "/data/jupyter"},
		"linux, Jupyter's":    {"linux", map[string]string{"XDG_DATA_HOME": "/data", "JUPYTER_DATA_DIR": "/j"}, "/j"},
		"mac":                 {"darwin", map[string]string{"XDG_DATA_HOME": "/data"}, "/home/u/Library/Jupyter"},
		"mac, platform's":     {"darwin", map[string]string{"JUPYTER_PLATFORM_DIRS": "1"}, "/home/u/Library/Application Support/Jupyter"},
		"mac, not platform's": {"darwin", map[string]string{"JUPYTER_PLATFORM_DIRS": "0"}, "/home/u/Library/Jupyter"},
		"mac, Jupyter's":      {"darwin", map[string]string{"JUPYTER_DATA_DIR": "/j"}, "/j"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := userDataDir(tt.goos, "/home/u", func(k string) string { return tt.env[k] }); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	ctx := context.Background()
	venv := t.TempDir()
	bin := t.TempDir()
	clear := func(t *testing.T) {
		for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "JUPYTER_DATA_DIR"} {
			t.Setenv(name, "")
		}
		t.Setenv("PATH", bin)
	}
	get := func(t *testing.T, p Place) string {
		t.Helper()
		dir, err := p.DataDir(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	fails := func(t *testing.T, p Place, want string) {
		t.Helper()
		if dir, err := p.DataDir(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, %v; want %q in it", dir, err, want)
		}
	}
	t.Run("user", func(t *testing.T) {
		clear(t)
		t.Setenv("JUPYTER_DATA_DIR", "/j")
		if a, b := get(t, Place{}), get(t, Place{User: true}); a != "/j" || b != "/j" {
			t.Errorf("%s, %s", a, b)
		}
		t.Setenv("JUPYTER_DATA_DIR", "")
		t.Setenv("HOME", "")
		fails(t, Place{}, "JUPYTER_DATA_DIR")
	})
	t.Run("prefix", func(t *testing.T) {
		if got := get(t, Place{Prefix: "/opt/x/"}); got != "/opt/x/share/jupyter" {
			t.Error(got)
		}
		if got := get(t, Place{Prefix: "sub"}); !filepath.IsAbs(got) {
			t.Error(got)
		}
		fails(t, Place{Prefix: "/x", User: true}, "only one of")
		fails(t, Place{SysPrefix: true, User: true}, "only one of")
	})
	t.Run("environment", func(t *testing.T) {
		for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
			clear(t)
			t.Setenv(name, venv)
			if got, want := get(t, Place{SysPrefix: true}), filepath.Join(venv, "share", "jupyter"); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
			t.Setenv(name, filepath.Join(venv, "gone"))
			fails(t, Place{SysPrefix: true}, "activate the environment again")
		}
	})
	t.Run("python", func(t *testing.T) {
		clear(t)
		fails(t, Place{SysPrefix: true}, "no python3 is in the path")
		program(t, filepath.Join(bin, "python"), "#!/bin/sh\necho /py\n")
		if got := get(t, Place{SysPrefix: true}); got != "/py/share/jupyter" {
			t.Error(got)
		}
		program(t, filepath.Join(bin, "python3"), "#!/bin/sh\necho oops >&2; exit 3\n")
		fails(t, Place{SysPrefix: true}, "oops")
	})
}

// TestRealPython asks a real interpreter for its prefix, if there is one.
func TestRealPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("CONDA_PREFIX", "")
	dir, err := Place{SysPrefix: true}.DataDir(context.Background())
	if err != nil || !strings.HasSuffix(dir, filepath.Join("share", "jupyter")) {
		t.Errorf("%s %v", dir, err)
	}
}

func TestLogos(t *testing.T) {
	files, err := logos()
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"logo-32x32.png": 32, "logo-64x64.png": 64} {
		img, err := png.Decode(bytes.NewReader(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		if b := img.Bounds(); b.Dx() != size || b.Dy() != size {
			t.Errorf("%s is %v", name, b)
		}
		if _, _, _, a := img.At(0, 0).RGBA(); a > 0x2000 {
			t.Errorf("%s: the corner is not clear", name)
		}
		if _, _, _, a := img.At(size/2, size/2).RGBA(); a != 0xffff {
			t.Errorf("%s: the middle is not filled", name)
		}
	}
	d := xml.NewDecoder(bytes.NewReader(files["logo-svg.svg"]))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
