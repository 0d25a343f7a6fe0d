package zmtp

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
)

// The frame flags of ZMTP 3 (https://rfc.zeromq.org/spec/23/).
const (
	flagMore    = 1 << 0
	flagLong    = 1 << 1
	flagCommand = 1 << 2
	flagsKnown  = flagMore | flagLong | flagCommand
)

const (
	greetingSize = 64
	// maxReady bounds the one command of the NULL handshake: a socket type, an identity of at most 255 bytes and
	// whatever a client adds.
	maxReady = 16 << 10
	// maxFrames bounds the frames of a message; Jupyter's have a dozen and one for each buffer.
	maxFrames = 4096
)

// handshake greets a new connection and gives the identity that its peer asks for, which may be empty.
func handshake(conn net.Conn, kind zmq4.SocketType) (identity string, err error) {
	// zmq4 indexes into the peer's bytes without looking whether they are there.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("malformed ZMTP handshake: %v", r)
		}
	}()
	zc, err := zmq4.Open(&greeter{Conn: conn}, null.Security(), kind, nil, true, nil)
	if err != nil {
		return "", err
	}
	return zc.Peer.Meta["Identity"], nil
}

// greeter is the connection as zmq4 sees it in the handshake: the peer's greeting and one command of bounded size,
// then nothing. zmq4 takes a frame's word for its length, so the frame is read here first.
type greeter struct {
	net.Conn
	greeting int
	command  *bytes.Reader
}

func (g *greeter) Read(p []byte) (int, error) {
	if g.greeting < greetingSize {
		n, err := g.Conn.Read(p[:min(len(p), greetingSize-g.greeting)])
		g.greeting += n
		return n, err
	}
	if g.command == nil {
		frame, err := readReady(g.Conn)
		if err != nil {
			return 0, err
		}
		g.command = bytes.NewReader(frame)
	}
	return g.command.Read(p)
}

// readReady reads one command frame, header included.
func readReady(r io.Reader) ([]byte, error) {
	header := make([]byte, 2, 9)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, err
	}
	flags, size := header[0], uint64(header[1])
	if flags&^(flagLong|flagCommand) != 0 || flags&flagCommand == 0 {
		return nil, fmt.Errorf("the handshake has a frame with flags %#x where a command is due", flags)
	}
	if flags&flagLong != 0 {
		header = header[:9]
		if _, err := io.ReadFull(r, header[2:]); err != nil {
			return nil, err
		}
		size = binary.BigEndian.Uint64(header[1:])
	}
	if size > maxReady {
		return nil, fmt.Errorf("the handshake has a command of %d bytes; the limit is %d", size, maxReady)
	}
	frame := make([]byte, len(header)+int(size))
	copy(frame, header)
	if _, err := io.ReadFull(r, frame[len(header):]); err != nil {
		return nil, err
	}
	return frame, nil
}

// readMessage reads one message or command of no more than limit bytes.
func readMessage(r *bufio.Reader, limit int64) (frames [][]byte, command bool, err error) {
	left := limit
	for {
		flags, err := r.ReadByte()
		if err != nil {
			if len(frames) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, false, err
		}
		size, err := readSize(r, flags)
		if err != nil {
			return nil, false, err
		}
		switch {
		case flags&flagCommand != 0 && (flags&flagMore != 0 || len(frames) > 0):
			return nil, false, errors.New("a command inside a message")
		case size > uint64(left):
			return nil, false, fmt.Errorf("a message of more than %d bytes", limit)
		case len(frames) >= maxFrames:
			return nil, false, fmt.Errorf("a message of more than %d frames", maxFrames)
		}
		left -= int64(size)
		body, err := readBody(r, int(size))
		if err != nil {
			return nil, false, err
		}
		frames = append(frames, body)
		if flags&flagMore == 0 {
			return frames, flags&flagCommand != 0, nil
		}
	}
}

func readSize(r *bufio.Reader, flags byte) (uint64, error) {
	if flags&^flagsKnown != 0 {
		return 0, fmt.Errorf("a frame with unknown flags %#x", flags)
	}
	width := 1
	if flags&flagLong != 0 {
		width = 8
	}
	var b [8]byte
	if _, err := io.ReadFull(r, b[8-width:]); err != nil {
		return 0, unexpected(err)
	}
	return binary.BigEndian.Uint64(b[:]), nil
}

// readBody reads size bytes. A long body's memory grows with what arrives.
func readBody(r io.Reader, size int) ([]byte, error) {
	const trusted = 1 << 20
	if size <= trusted {
		body := make([]byte, size)
		_, err := io.ReadFull(r, body)
		return body, unexpected(err)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, int64(size)); err != nil {
		return nil, unexpected(err)
	}
	return b.Bytes(), nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeMessage writes one message or command.
func writeMessage(w *bufio.Writer, m outgoing) error {
	for i, f := range m.frames {
		var header [9]byte
		n := 2
		if len(f) > 255 {
			n = 9
			header[0] |= flagLong
			binary.BigEndian.PutUint64(header[1:], uint64(len(f)))
		} else {
			header[1] = byte(len(f))
		}
		if i < len(m.frames)-1 {
			header[0] |= flagMore
		}
		if m.command {
			header[0] |= flagCommand
		}
		if _, err := w.Write(header[:n]); err != nil {
			return err
		}
		if _, err := w.Write(f); err != nil {
			return err
		}
	}
	return nil
}

// pongFor gives the answer to a PING command: its context, without the two bytes of its time to live.
func pongFor(frames [][]byte) ([]byte, bool) {
	const name = "\x04PING"
	if len(frames) != 1 || !bytes.HasPrefix(frames[0], []byte(name)) || len(frames[0]) < len(name)+2 {
		return nil, false
	}
	return append([]byte("\x04PONG"), frames[0][len(name)+2:]...), true
}

// endOfConnection tells the ways in which a connection ends without anyone's fault.
func endOfConnection(err error) bool {
	return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)
}
