package rendezvous

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// limits are the bounds that the server holds its clients to. They are in one
// place so that tests can make them small.
type limits struct {
	header  time.Duration // for a TLS handshake, and again for a request's header
	stall   time.Duration // for each minProgress bytes of a body, sent or received
	idle    time.Duration // between two requests on one connection
	goodbye time.Duration // for answers under way when the server closes
	maxWait time.Duration // for one long poll of the key-value store

	maxPending    int   // connections that have not shown the token
	maxHeader     int   // bytes of a request's header
	maxFailure    int64 // bytes of a Failure
	maxValue      int64 // bytes of one value of the key-value store
	maxStoreBytes int64 // bytes of all of them
}

const (
	minProgress = 64 << 10
	// A body of up to this size is worth one allocation on its word alone.
	trustedBody = 1 << 20
	sendChunk   = 4 << 20

	defaultMaxResult = 4 << 30
)

func defaultLimits(ranks int) limits {
	return limits{
		header:  10 * time.Second,
		stall:   30 * time.Second,
		idle:    3 * time.Minute,
		goodbye: 100 * time.Millisecond,
		maxWait: time.Minute,
		// All workers and agents connect at once when a run starts, some
		// of them twice; none of them may push out another.
		maxPending:    256 + 4*ranks,
		maxHeader:     16 << 10,
		maxFailure:    4 << 20,
		maxValue:      16 << 20,
		maxStoreBytes: 512 << 20,
	}
}

// steadyBody reads a request's body and gives it up when it stops flowing: it
// has to bring minProgress bytes, or its end, in each span of time.
type steadyBody struct {
	body  io.Reader
	rc    *http.ResponseController
	stall time.Duration
	left  int // bytes until the deadline moves
}

// Read implements io.Reader.
func (s *steadyBody) Read(p []byte) (int, error) {
	if s.left <= 0 {
		if err := s.rc.SetReadDeadline(time.Now().Add(s.stall)); err != nil {
			return 0, err
		}
		s.left = minProgress
	}
	n, err := s.body.Read(p)
	s.left -= n
	return n, err
}

// readBody reads the whole body of a request. A body that says that it is
// larger than max is refused before any of it is read, and what it says is
// believed only once some of it has come, so that an empty promise costs
// nothing.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, what string, max int64) ([]byte, error) {
	if r.ContentLength > max {
		return nil, tooLarge(what, r.ContentLength, max)
	}
	rc := http.NewResponseController(w)
	// MaxBytesReader also makes the server linger after its refusal, so that
	// a client in the middle of sending gets to read it.
	body := &steadyBody{body: http.MaxBytesReader(w, r.Body, max), rc: rc, stall: s.limits.stall}
	data, err := readSized(body, r.ContentLength, max)
	if err != nil {
		return nil, bodyProblem(err, what, max)
	}
	// The last deadline must not hit a handler that is busy with the data.
	return data, rc.SetReadDeadline(time.Time{})
}

// readSized reads size bytes, or all there is when size is below 0; r sees to
// it that this is not more than max.
func readSized(r io.Reader, size, max int64) ([]byte, error) {
	if size < 0 {
		return readGrowing(r, max)
	}
	buf := make([]byte, min(size, trustedBody))
	n, err := io.ReadFull(r, buf)
	if err != nil {
		return nil, noEOF(err)
	}
	if int64(n) == size {
		return buf, nil
	}
	whole := make([]byte, size)
	copy(whole, buf)
	if _, err := io.ReadFull(r, whole[n:]); err != nil {
		return nil, noEOF(err)
	}
	return whole, nil
}

func readGrowing(r io.Reader, max int64) ([]byte, error) {
	buf := make([]byte, 0, min(max, minProgress)+1)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(2*int64(cap(buf)), max)+1)
			copy(grown, buf)
			buf = grown
		}
	}
}

func tooLarge(what string, size, max int64) error {
	p := problemf(http.StatusRequestEntityTooLarge, "%s has %d bytes, over the limit of %d", what, size, max)
	p.hangUp = true
	return p
}

// bodyProblem says why a body could not be read. The connection is of no use
// after that.
func bodyProblem(err error, what string, max int64) error {
	var p *problem
	var frame *frameError
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		p = problemf(http.StatusRequestEntityTooLarge, "%s is over the limit of %d bytes", what, max)
	case errors.Is(err, os.ErrDeadlineExceeded):
		p = problemf(http.StatusRequestTimeout, "%s stopped coming: a body has to bring %d bytes, or its end, in each span of time", what, minProgress)
	case errors.As(err, &frame):
		p = problemf(http.StatusBadRequest, "%s is malformed: %s", what, frame.msg)
	default:
		p = problemf(http.StatusBadRequest, "%s broke off: %v", what, err)
	}
	p.hangUp = true
	return p
}

// send answers with the data. A client that stops reading is given up.
func (s *Server) send(w http.ResponseWriter, contentType string, data []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	setLength(h, len(data))
	rc := http.NewResponseController(w)
	for len(data) > 0 {
		n := min(len(data), sendChunk)
		if err := rc.SetWriteDeadline(time.Now().Add(s.limits.stall)); err != nil {
			return err
		}
		if _, err := w.Write(data[:n]); err != nil {
			return errAnswered
		}
		data = data[n:]
	}
	if err := rc.Flush(); err != nil {
		return errAnswered
	}
	// The deadline is the connection's and would hit its next request.
	return rc.SetWriteDeadline(time.Time{})
}
