package jupyter_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/kernel/jupyter"
)

func TestReadConnectionFile(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "kernel-1.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	got, err := jupyter.ReadConnectionFile(write(`{"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4,
		"hb_port": 5, "ip": "127.0.0.1", "key": "k", "transport": "tcp", "signature_scheme": "hmac-sha256",
		"kernel_name": "x", "jupyter_session": "not ours"}`))
	want := jupyter.ConnectionInfo{
		Transport: "tcp", IP: "127.0.0.1", ShellPort: 1, IOPubPort: 2, StdinPort: 3, ControlPort: 4, HeartbeatPort: 5,
		Key: "k", SignatureScheme: "hmac-sha256", KernelName: "x",
	}
	if err != nil || got != want {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	for name, tt := range map[string]struct{ path, want string }{
		"missing":  {filepath.Join(t.TempDir(), "none.json"), "read the connection file"},
		"no JSON":  {write("hello"), "not the JSON that Jupyter writes"},
		"bad port": {write(`{"shell_port": -1}`), "shell_port is -1"},
	} {
		if _, err := jupyter.ReadConnectionFile(tt.path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tt.want)
		}
	}
}
