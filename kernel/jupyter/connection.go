package jupyter

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
)

// ConnectionInfo is what a connection file holds: where to bind the five sockets and the key that signs messages.
// A port of 0 lets the system choose one.
type ConnectionInfo struct {
	Transport       string `json:"transport"` // "tcp" (also when empty) or "ipc"
	IP              string `json:"ip"`        // for ipc, the first part of the sockets' paths
	ShellPort       int    `json:"shell_port"`
	IOPubPort       int    `json:"iopub_port"`
	StdinPort       int    `json:"stdin_port"`
	ControlPort     int    `json:"control_port"`
	HeartbeatPort   int    `json:"hb_port"`
	Key             string `json:"key"` // empty: messages are not signed
	SignatureScheme string `json:"signature_scheme"`
	KernelName      string `json:"kernel_name,omitempty"`
}

const signatureScheme = "hmac-sha256"

// ReadConnectionFile reads the file that Jupyter names on a kernel's command line.
func ReadConnectionFile(path string) (ConnectionInfo, error) {
	var c ConnectionInfo
	data, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read the connection file: %w (Jupyter writes it and passes its name to the kernel)", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read the connection file %s: it is not the JSON that Jupyter writes: %w", path, err)
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("read the connection file %s: %w", path, err)
	}
	return c, nil
}

func (c ConnectionInfo) check() error {
	switch c.Transport {
	case "", "tcp":
	case "ipc":
		if c.IP == "" {
			return fmt.Errorf("transport \"ipc\" needs the sockets' path in \"ip\"")
		}
	default:
		return fmt.Errorf("transport %q is not known; this kernel has tcp and ipc", c.Transport)
	}
	if c.Key != "" && c.SignatureScheme != "" && c.SignatureScheme != signatureScheme {
		return fmt.Errorf("signature scheme %q is not known; this kernel has %s", c.SignatureScheme, signatureScheme)
	}
	for name, port := range map[string]int{
		"shell_port": c.ShellPort, "iopub_port": c.IOPubPort, "stdin_port": c.StdinPort,
		"control_port": c.ControlPort, "hb_port": c.HeartbeatPort,
	} {
		if port < 0 || port > 65535 {
			return fmt.Errorf("%s is %d, which is no port", name, port)
		}
		if c.Transport == "ipc" && port == 0 {
			return fmt.Errorf("%s is 0; the sockets of transport \"ipc\" must be numbered", name)
		}
	}
	return nil
}

// listen binds one socket and gives the port that it got.
func (c ConnectionInfo) listen(name string, port int) (net.Listener, int, error) {
	network, address := "tcp", ""
	if c.Transport == "ipc" {
		network, address = "unix", c.IP+"-"+strconv.Itoa(port)
		// A file of that name is left over from a kernel that was killed: Jupyter gives each kernel its own.
		if st, err := os.Lstat(address); err == nil && st.Mode()&os.ModeSocket != 0 {
			os.Remove(address)
		}
	} else {
		ip := c.IP
		switch ip {
		case "":
			ip = "127.0.0.1"
		case "*":
			ip = ""
		}
		address = net.JoinHostPort(ip, strconv.Itoa(port))
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, 0, fmt.Errorf("bind the %s socket: %w (is another kernel using this connection file?)", name, err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		port = tcp.Port
	}
	return l, port, nil
}
