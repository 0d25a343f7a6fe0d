package rendezvous

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// ClientConfig tells a Client where the driver is and how to know it.
type ClientConfig struct {
	Addr        string // host:port
	Fingerprint string // what Server.Fingerprint gave
	Token       string // what Server.Token gave
	Rank        int    // the rank that the client speaks for
	// Logger gets each repeated attempt at debug level; nil means no log.
	Logger *slog.Logger
}

// Client is one rank's side of a rendezvous. Its methods may be called from
// any goroutine. Requests that may be repeated are, with growing pauses, when
// the connection fails.
type Client struct {
	cfg       ClientConfig
	http      *http.Client
	transport *http.Transport
	log       *slog.Logger
	rankPath  string

	ctx  context.Context // ends when the client closes
	stop context.CancelFunc
	wg   sync.WaitGroup // the goroutines of Control and Output
}

const idempotencyKey = "Idempotency-Key"

const (
	dialTimeout = 10 * time.Second
	// How long a request is tried again after its first failure.
	retryFor      = 10 * time.Second
	firstPause    = 10 * time.Millisecond
	longestPause  = time.Second
	maxProblem    = 64 << 10
	maxSmallReply = 1 << 20
	// Bodies over this size wait for the driver's word before they are
	// sent, so that a refusal can be heard and costs nothing.
	askFirst = 64 << 10
)

// NewClient makes a client. It does not connect yet. The caller must Close it.
func NewClient(cfg ClientConfig) *Client {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	c := &Client{
		cfg: cfg,
		log: cfg.Logger,
		transport: &http.Transport{
			// The run's token and data go to the driver and nowhere else.
			Proxy:               nil,
			DialContext:         dialer.DialContext,
			TLSClientConfig:     clientTLS(cfg.Addr, cfg.Fingerprint),
			TLSHandshakeTimeout: dialTimeout,
			// Shorter than the server's, so that it is the client that
			// closes an idle connection and never writes to a closed one.
			IdleConnTimeout:       time.Minute,
			MaxIdleConnsPerHost:   4,
			DisableCompression:    true,
			ExpectContinueTimeout: retryFor,
			ReadBufferSize:        64 << 10,
			WriteBufferSize:       64 << 10,
			Protocols:             protocols,
		},
		rankPath: "/v1/ranks/" + strconv.Itoa(cfg.Rank),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.http = &http.Client{
		Transport: c.transport,
		// The server redirects nowhere; who does is not the server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Close ends everything that the client still does and waits for it. Output
// that was not closed before is cut off.
func (c *Client) Close() {
	c.stop()
	c.wg.Wait()
	c.transport.CloseIdleConnections()
}

// Program fetches the run's Program.
func (c *Client) Program(ctx context.Context) ([]byte, error) {
	return c.fetch(ctx, call{doing: "fetch the program", method: http.MethodGet, path: "/v1/program"}, -1)
}

// Slot fetches the rank's slot.
func (c *Client) Slot(ctx context.Context) (Slot, error) {
	var slot Slot
	k := call{doing: fmt.Sprintf("fetch the slot of rank %d", c.cfg.Rank), method: http.MethodGet, path: c.rankPath}
	body, err := c.fetch(ctx, k, maxSmallReply)
	if err != nil {
		return slot, err
	}
	if err := json.Unmarshal(body, &slot); err != nil {
		return slot, c.failed(k, err)
	}
	return slot, nil
}

// PutResult sends the rank's value. It can be done once, and not after
// PutFailure: then the error is ErrConflict.
func (c *Client) PutResult(ctx context.Context, value []byte) error {
	k := c.resultCall()
	k.body, k.size = rewound(value), int64(len(value))
	return c.do(ctx, k)
}

// PutResultFrom is PutResult for a value that is read from r. Its size is the
// number of bytes that r will give, or below 0 when that is not known. A failed
// attempt can be repeated only when r is an io.Seeker.
func (c *Client) PutResultFrom(ctx context.Context, r io.Reader, size int64) error {
	k := c.resultCall()
	begun := false
	var start int64
	k.size = size
	k.body = func() (io.Reader, error) {
		seeker, canSeek := r.(io.Seeker)
		if !begun {
			begun = true
			if canSeek {
				var err error
				if start, err = seeker.Seek(0, io.SeekCurrent); err != nil {
					return nil, err
				}
			}
			return r, nil
		}
		if !canSeek {
			return nil, errors.New("the value was read in part and cannot be read again")
		}
		_, err := seeker.Seek(start, io.SeekStart)
		return r, err
	}
	return c.do(ctx, k)
}

func (c *Client) resultCall() call {
	return call{
		doing:  fmt.Sprintf("send the result of rank %d", c.cfg.Rank),
		method: http.MethodPut,
		path:   c.rankPath + "/result",
		key:    rand.Text(),
	}
}

// PutFailure sends the reason why the rank has no result. It can be done once,
// and not after PutResult: then the error is ErrConflict. Overlong parts of f
// are cut.
func (c *Client) PutFailure(ctx context.Context, f Failure) error {
	k := call{
		doing:  fmt.Sprintf("send the failure of rank %d", c.cfg.Rank),
		method: http.MethodPut,
		path:   c.rankPath + "/failure",
		key:    rand.Text(),
	}
	body, err := json.Marshal(f.fit())
	if err != nil {
		return c.failed(k, err)
	}
	k.body, k.size = rewound(body), int64(len(body))
	return c.do(ctx, k)
}

func keyPath(scope, key string) (string, error) {
	if scope == "" || key == "" || len(scope) > maxKeyLength || len(key) > maxKeyLength {
		return "", fmt.Errorf("rendezvous: key %.40q in scope %.40q: a scope and a key have 1 to %d bytes", key, scope, maxKeyLength)
	}
	return "/v1/kv/" + url.PathEscape(scope) + "/" + url.PathEscape(key), nil
}

// KVPut stores the value under the key, in place of an older one.
func (c *Client) KVPut(ctx context.Context, scope, key string, value []byte) error {
	path, err := keyPath(scope, key)
	if err != nil {
		return err
	}
	return c.do(ctx, call{
		doing:  fmt.Sprintf("store the key %q in scope %q", key, scope),
		method: http.MethodPut,
		path:   path,
		body:   rewound(value),
		size:   int64(len(value)),
	})
}

// KVGet returns the value of the key. It waits for the key to be there for as
// long as wait says; then the error is ErrNotFound.
func (c *Client) KVGet(ctx context.Context, scope, key string, wait time.Duration) ([]byte, error) {
	path, err := keyPath(scope, key)
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(wait)
	for {
		// The server holds a request only for so long; each round asks
		// for what is left.
		left := max(time.Until(end), 0)
		value, err := c.fetch(ctx, call{
			doing:  fmt.Sprintf("fetch the key %q in scope %q", key, scope),
			method: http.MethodGet,
			path:   path + "?wait=" + url.QueryEscape(left.String()),
		}, -1)
		if errors.Is(err, ErrNotFound) && time.Now().Before(end) {
			continue
		}
		return value, err
	}
}

// KVDelete takes the key out. It need not be there.
func (c *Client) KVDelete(ctx context.Context, scope, key string) error {
	path, err := keyPath(scope, key)
	if err != nil {
		return err
	}
	return c.do(ctx, call{doing: fmt.Sprintf("delete the key %q in scope %q", key, scope), method: http.MethodDelete, path: path})
}

// Control is what a rank hears on its control connection: exactly one of the
// two fields counts.
type Control struct {
	// Cancel is the reason why the rank has to stop, when Lost is nil.
	Cancel string
	// Lost says that the connection ended: the driver is gone or does not
	// need the rank any more.
	Lost error
}

// Control opens the rank's control connection. The channel brings one Control
// and is closed then; when ctx ends or the client is closed before, it is
// closed without one.
func (c *Client) Control(ctx context.Context) (<-chan Control, error) {
	ctx, release := c.join(ctx)
	k := call{doing: fmt.Sprintf("open the control connection of rank %d", c.cfg.Rank), method: http.MethodGet, path: c.rankPath + "/control"}
	resp, err := c.open(ctx, k)
	if err != nil {
		release()
		return nil, err
	}
	heard := make(chan Control, 1)
	c.wg.Go(func() {
		defer close(heard)
		defer release()
		defer resp.Body.Close()
		// Reading ends by the driver's word, by its end, or by ctx.
		msg, err := readControl(resp.Body)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			msg.Lost = c.failed(call{doing: fmt.Sprintf("listen on the control connection of rank %d", c.cfg.Rank)}, err)
		}
		heard <- msg
	})
	return heard, nil
}

func readControl(body io.Reader) (Control, error) {
	br := bufio.NewReader(io.LimitReader(body, maxSmallReply))
	text, err := br.ReadBytes('\n')
	if err == io.EOF && len(text) == 0 {
		return Control{}, errors.New("the driver ended it")
	}
	if err != nil {
		return Control{}, noEOF(err)
	}
	var line controlLine
	if err := json.Unmarshal(text, &line); err != nil {
		return Control{}, err
	}
	return Control{Cancel: line.Cancel}, nil
}

// rewound gives a body that can be sent again.
func rewound(data []byte) func() (io.Reader, error) {
	return func() (io.Reader, error) { return bytes.NewReader(data), nil }
}
