package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// OutputWriter sends a rank's output. Records that are written while others
// are on their way are sent together, so many small ones cost little and a
// single one goes out at once. Its methods may be called from any goroutine;
// records arrive in the order of the calls of Write.
type OutputWriter struct {
	rank int

	mu      sync.Mutex
	changed sync.Cond // signaled on each change of what follows
	pending []byte    // frames to be sent
	spare   []byte    // the buffer that was sent last, for the next round
	closed  bool
	err     error // why the stream is broken

	agreed chan struct{} // closed when the driver has agreed to take the stream
	done   chan struct{} // closed when the request has ended
}

// Pending frames above this size make Write wait: a driver that is slower
// than its ranks slows them down.
const highWater = 1 << 20

var errOutputClosed = errors.New("it was closed before")

// Output begins to send the rank's output, which can be done once in a run:
// then the error is ErrConflict. It returns when the driver has agreed. The
// stream is cut off when ctx ends or the client is closed.
func (c *Client) Output(ctx context.Context) (*OutputWriter, error) {
	w := &OutputWriter{rank: c.cfg.Rank, agreed: make(chan struct{}), done: make(chan struct{})}
	w.changed.L = &w.mu
	ctx, release := c.join(ctx)
	c.wg.Go(func() {
		defer release()
		defer close(w.done)
		w.finish(c.sendOutput(ctx, w))
	})
	select {
	case <-w.agreed:
		return w, nil
	case <-w.done:
		// It ended before anything was written: it was refused, or the
		// driver broke it off at once.
		return nil, w.Close()
	}
}

// sendOutput makes the request that carries the output. As long as the driver
// has not agreed to it nothing of the output is sent, so until then it can be
// repeated.
func (c *Client) sendOutput(ctx context.Context, w *OutputWriter) error {
	k := call{
		doing:  fmt.Sprintf("send the output of rank %d", c.cfg.Rank),
		method: http.MethodPost,
		path:   c.rankPath + "/output",
		size:   -1,
	}
	return c.retry(ctx, k, func() error {
		body := &outputBody{w: w}
		// The transport ends a request only when its body lets go.
		unhook := context.AfterFunc(ctx, func() { body.giveUp() })
		defer unhook()
		k.body = func() (io.Reader, error) { return body, nil }
		resp, err := c.attempt(ctx, k)
		if err != nil {
			if body.giveUp() {
				return &permanentError{err}
			}
			return err
		}
		return resp.Body.Close()
	})
}

// Write takes the record for sending. An error means that the stream is broken
// and nothing more will arrive. The writer does not keep r.Data.
func (w *OutputWriter) Write(r Record) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("rendezvous: write output of rank %d: %w", w.rank, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(r.Data) == 0 && (r.Kind == Stdout || r.Kind == Stderr) {
		return w.broken()
	}
	for first := true; first || len(r.Data) > 0; first = false {
		// The frames of one record stay together: the lock is given up
		// only in between records of a stream.
		for len(w.pending) >= highWater && w.err == nil && !w.closed && (first || r.Kind == Stdout || r.Kind == Stderr) {
			w.changed.Wait()
		}
		if err := w.broken(); err != nil {
			return err
		}
		if w.pending == nil {
			w.pending, w.spare = w.spare[:0], nil
		}
		w.pending, r = r.appendFrame(w.pending)
		w.changed.Broadcast()
	}
	return nil
}

// broken tells, with w.mu held, why nothing can be written.
func (w *OutputWriter) broken() error {
	err := w.err
	if err == nil && w.closed {
		err = errOutputClosed
	}
	if err != nil {
		return fmt.Errorf("rendezvous: write output of rank %d: %w", w.rank, err)
	}
	return nil
}

// Close ends the output and waits until the driver has taken all of it. A nil
// error means that everything arrived.
func (w *OutputWriter) Close() error {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// finish records how the request ended and wakes who waits.
func (w *OutputWriter) finish(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && !w.closed {
		err = errors.New("the driver ended it early")
	}
	w.err = err
	w.changed.Broadcast()
}

// outputBody is the body of one attempt to send the output. The transport asks
// for it when the driver has agreed ("100 Continue"); from then on it gives
// what is pending as soon as there is something.
type outputBody struct {
	w     *OutputWriter
	begun bool   // guarded by w.mu, as are the others
	over  bool   // the attempt has ended
	buf   []byte // what was pending, being sent
	rest  []byte // the part of buf that is still to be sent
}

// Read implements io.Reader.
func (b *outputBody) Read(p []byte) (int, error) {
	w := b.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !b.begun && !b.over {
		b.begun = true
		close(w.agreed)
	}
	for len(b.rest) == 0 {
		if b.over {
			return 0, errors.New("the attempt is over")
		}
		if len(w.pending) > 0 {
			if b.buf != nil {
				w.spare = b.buf
			}
			b.buf, b.rest, w.pending = w.pending, w.pending, nil
			w.changed.Broadcast()
			break
		}
		if w.closed {
			return 0, io.EOF
		}
		w.changed.Wait()
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// giveUp ends the attempt and tells whether output was lost with it. It also
// frees a Read that waits for output to come.
func (b *outputBody) giveUp() (lost bool) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.over = true
	b.w.changed.Broadcast()
	return b.begun
}
