package rendezvous

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// What the driver can refuse a request for. errors.Is tells them apart; the
// error itself is a *ProblemError.
var (
	ErrNotFound     = errors.New("not found")         // 404
	ErrConflict     = errors.New("done already")      // 409
	ErrUnauthorized = errors.New("wrong token")       // 401
	ErrTooLarge     = errors.New("over a size limit") // 413
	ErrStoreFull    = errors.New("the store is full") // 507
)

var errClientClosed = errors.New("the client is closed")

// ProblemError is the driver's refusal of a request.
type ProblemError struct {
	Doing  string // what the client was doing
	Addr   string // the driver's address
	Status int    // the HTTP status
	Title  string
	Detail string
}

func (e *ProblemError) Error() string {
	return fmt.Sprintf("rendezvous: %s: the driver at %s answered %d %s: %s", e.Doing, e.Addr, e.Status, e.Title, e.Detail)
}

// Is makes errors.Is tell the refusals apart.
func (e *ProblemError) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	case ErrConflict:
		return e.Status == http.StatusConflict
	case ErrUnauthorized:
		return e.Status == http.StatusUnauthorized
	case ErrTooLarge:
		return e.Status == http.StatusRequestEntityTooLarge
	case ErrStoreFull:
		return e.Status == http.StatusInsufficientStorage
	}
	return false
}

// call is one request and how it may be repeated.
type call struct {
	doing  string // for errors: "fetch the program"
	method string
	path   string                    // escaped, with the query
	key    string                    // an Idempotency-Key, when the request needs one to be repeated
	body   func() (io.Reader, error) // called for each attempt; nil means none
	size   int64                     // of the body; below 0 when not known
}

// failed names what was being done, and where, in front of err.
func (c *Client) failed(k call, err error) error {
	return fmt.Errorf("rendezvous: %s at %s: %w", k.doing, c.cfg.Addr, err)
}

// join gives a context that ends with ctx and with the client.
func (c *Client) join(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(c.ctx, func() { cancel(errClientClosed) })
	return ctx, func() {
		unhook()
		cancel(context.Canceled)
	}
}

// do makes a request whose answer has no content.
func (c *Client) do(ctx context.Context, k call) error {
	_, err := c.fetch(ctx, k, maxSmallReply)
	return err
}

// fetch makes a request and returns the content of its answer, at most max
// bytes of it when max is not below 0. The driver is trusted with the size of
// what it was asked for.
func (c *Client) fetch(ctx context.Context, k call, max int64) ([]byte, error) {
	ctx, release := c.join(ctx)
	defer release()
	var body []byte
	err := c.retry(ctx, k, func() error {
		resp, err := c.attempt(ctx, k)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if max >= 0 && resp.ContentLength > max {
			return &permanentError{fmt.Errorf("the answer has %d bytes, over the limit of %d", resp.ContentLength, max)}
		}
		if resp.ContentLength >= 0 {
			body = make([]byte, resp.ContentLength)
			_, err = io.ReadFull(resp.Body, body)
		} else {
			body, err = io.ReadAll(io.LimitReader(resp.Body, maxSmallReply))
		}
		return noEOF(err)
	})
	return body, err
}

// open makes a request whose answer is read by the caller, who closes it.
func (c *Client) open(ctx context.Context, k call) (*http.Response, error) {
	var resp *http.Response
	err := c.retry(ctx, k, func() (err error) {
		resp, err = c.attempt(ctx, k)
		return err
	})
	return resp, err
}

// permanentError is one that no repetition helps against.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

func permanent(err error) bool {
	var perm *permanentError
	var refusal *ProblemError
	var stranger *FingerprintError
	return errors.As(err, &perm) || errors.As(err, &refusal) || errors.As(err, &stranger)
}

// retry tries until it succeeds, for retryFor after the first attempt.
func (c *Client) retry(ctx context.Context, k call, try func() error) error {
	var giveUp time.Time
	pause := firstPause
	for {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return c.failed(k, context.Cause(ctx))
		}
		if giveUp.IsZero() {
			giveUp = time.Now().Add(retryFor)
		}
		var refusal *ProblemError
		switch {
		case errors.As(err, &refusal):
			return refusal
		case permanent(err):
			return c.failed(k, err)
		case time.Now().After(giveUp):
			return c.failed(k, fmt.Errorf("%w (tried for %s; is the driver still there, and can this host reach it?)", err, retryFor))
		}
		c.log.Debug("rendezvous request failed, trying again", "doing", k.doing, "pause", pause, "error", err)
		// Ranks that failed together must not come back together.
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return c.failed(k, context.Cause(ctx))
		}
		pause = min(2*pause, longestPause)
	}
}

// attempt makes a request once. An answer that is no success becomes an error.
func (c *Client) attempt(ctx context.Context, k call) (*http.Response, error) {
	req, err := c.request(ctx, k)
	if err != nil {
		return nil, &permanentError{err}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.refusal(k, resp)
}

func (c *Client) request(ctx context.Context, k call) (*http.Request, error) {
	var body io.Reader
	if k.body != nil {
		var err error
		if body, err = k.body(); err != nil {
			return nil, err
		}
		// The transport closes bodies that it can close; these are not its own.
		body = io.NopCloser(body)
		if k.size == 0 {
			body = http.NoBody
		}
	}
	req, err := http.NewRequestWithContext(ctx, k.method, "https://"+c.cfg.Addr+k.path, body)
	if err != nil {
		return nil, err
	}
	if body != nil && body != http.NoBody {
		req.ContentLength = k.size
	}
	req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	if k.key != "" {
		req.Header.Set(idempotencyKey, k.key)
	}
	if k.size < 0 || k.size > askFirst {
		req.Header.Set("Expect", "100-continue")
	}
	return req, nil
}

// refusal reads the problem document of an answer.
func (c *Client) refusal(k call, resp *http.Response) *ProblemError {
	e := &ProblemError{Doing: k.doing, Addr: c.cfg.Addr, Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	var p problem
	switch {
	case err != nil:
		e.Detail = err.Error()
	case json.Unmarshal(text, &p) == nil && p.Detail != "":
		e.Detail = p.Detail
	default:
		// net/http's own answers to malformed requests are plain text.
		e.Detail = string(text)
	}
	return e
}
