package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Events is what a run's driver is told. The methods are called from the
// goroutines of the requests: those for one rank one after the other, those
// for different ranks at the same time. While a method runs its rank waits, so
// it must not block for long, and must not call Server.Close. What is handed
// over belongs to the callee.
//
// A rank is finished when it has given a result or a failure and its output
// has ended. After Server.Close returned, nothing is called any more.
type Events interface {
	// Record brings the next piece of the rank's output.
	Record(rank int, r Record)
	// OutputEnded says that no record of the rank follows. With a nil err
	// all of its output has arrived; else the stream broke off, and err
	// says how.
	OutputEnded(rank int, err error)
	// Result brings the rank's value. It is called at most once for a rank,
	// and not for one that failed.
	Result(rank int, value []byte)
	// Failed brings the rank's failure. It is called at most once for a
	// rank, and not for one that gave a result.
	Failed(rank int, f Failure)
	// ControlLost says that the rank's control connection ended before the
	// rank gave a result or failure, and before the run was canceled.
	ControlLost(rank int)
}

// Config is what a Server is made from.
type Config struct {
	// Listen is the address to listen on: "host:port", "host:from-to" for
	// the first free port of a range, or only the port or range. Port 0
	// means any. Empty means 127.0.0.1:0; workers on other hosts need an
	// address that they can reach.
	Listen string
	// Program is what GET /v1/program answers. It must not be changed while
	// the server runs.
	Program []byte
	// Slots are the slots of all ranks from 0 to len(Slots)-1, in any order.
	Slots []Slot
	// Events is told what happens.
	Events Events
	// MaxResult is the largest result taken, in bytes; 0 means 4 GiB.
	MaxResult int64
	// Logger gets each request at debug level; nil means no log. The token
	// and bodies are never logged.
	Logger *slog.Logger
}

// Server is the driver's side of a rendezvous. Its methods may be called from
// any goroutine.
type Server struct {
	id        *identity
	program   []byte
	maxResult int64
	events    Events
	log       *slog.Logger
	limits    limits
	ranks     []*rank
	kv        *store
	http      *http.Server
	gate      *gate
	addr      string

	ctx  context.Context // ends when the server closes
	stop context.CancelFunc

	cancelOnce sync.Once
	canceled   chan struct{} // closed once cancelReason is set
	reason     string

	conns    sync.WaitGroup // one for each connection, until its goroutine ends
	serving  chan error     // the end of http.Serve
	closed   sync.Once
	closeErr error
}

// rank is what the server keeps of one rank.
type rank struct {
	slot Slot

	mu       sync.Mutex // held round each call of Events for this rank
	reported bool       // a result or failure was taken
	report   string     // the Idempotency-Key that it came with
	output   bool       // the output stream was begun
	control  bool       // a control connection is open
}

// tell calls f, which calls Events, when no other call for the rank is going
// on. The lock is given back even if the driver's code panics.
func (k *rank) tell(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// begin marks what a rank may have only once; it reports false when it was
// marked before.
func (k *rank) begin(mark *bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if *mark {
		return false
	}
	*mark = true
	return true
}

// Start begins to serve a run. The caller must Close the server.
func Start(cfg Config) (*Server, error) {
	s, err := newServer(cfg, defaultLimits(len(cfg.Slots)))
	if err != nil {
		return nil, fmt.Errorf("rendezvous: start the server: %w", err)
	}
	spec, err := parseListen(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("rendezvous: start the server: %w", err)
	}
	ln, err := spec.listen(s.ctx)
	if err != nil {
		return nil, fmt.Errorf("rendezvous: start the server: %w", err)
	}
	s.serve(ln, true)
	return s, nil
}

// newServer makes a server that does not listen yet.
func newServer(cfg Config, lim limits) (*Server, error) {
	if cfg.Events == nil {
		return nil, errors.New("Config.Events is nil: nobody would hear of the results")
	}
	if cfg.MaxResult < 0 {
		return nil, fmt.Errorf("Config.MaxResult is %d: give a number of bytes, or 0 for %d", cfg.MaxResult, int64(defaultMaxResult))
	}
	ranks, err := newRanks(cfg.Slots)
	if err != nil {
		return nil, err
	}
	id, err := newIdentity()
	if err != nil {
		return nil, err
	}
	s := &Server{
		id:        id,
		program:   cfg.Program,
		maxResult: cfg.MaxResult,
		events:    cfg.Events,
		log:       cfg.Logger,
		limits:    lim,
		ranks:     ranks,
		kv:        newStore(lim.maxStoreBytes),
		canceled:  make(chan struct{}),
		serving:   make(chan error, 1),
	}
	if s.maxResult == 0 {
		s.maxResult = defaultMaxResult
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler:           s.guard(s.routes()),
		TLSConfig:         id.serverTLS(),
		Protocols:         protocols,
		ReadHeaderTimeout: lim.header,
		IdleTimeout:       lim.idle,
		MaxHeaderBytes:    lim.maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ConnContext:       withConn,
		ConnState:         s.count,
	}
	return s, nil
}

func newRanks(slots []Slot) ([]*rank, error) {
	if len(slots) == 0 {
		return nil, errors.New("Config.Slots is empty: a run has at least one rank")
	}
	ranks := make([]*rank, len(slots))
	for _, slot := range slots {
		if slot.Rank < 0 || slot.Rank >= len(slots) {
			return nil, fmt.Errorf("Config.Slots holds rank %d: with %d slots the ranks are 0 to %d", slot.Rank, len(slots), len(slots)-1)
		}
		if ranks[slot.Rank] != nil {
			return nil, fmt.Errorf("Config.Slots holds rank %d twice", slot.Rank)
		}
		ranks[slot.Rank] = &rank{slot: slot}
	}
	return ranks, nil
}

// serve begins to accept connections.
func (s *Server) serve(ln net.Listener, withTLS bool) {
	s.addr = ln.Addr().String()
	s.gate = newGate(ln, s.limits.maxPending)
	go func() {
		var err error
		if withTLS {
			err = s.http.ServeTLS(s.gate, "", "")
		} else {
			err = s.http.Serve(s.gate)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("rendezvous: the server takes no more connections", "addr", s.addr, "error", err)
		}
		s.serving <- err
	}()
}

// Addr is the address that the server listens on, as host:port. When it
// listens on all interfaces the host is the unspecified one, and clients on
// other hosts need one of the machine's own in its place.
func (s *Server) Addr() string { return s.addr }

// Fingerprint is the SHA-256 sum of the server's certificate, in hexadecimal.
func (s *Server) Fingerprint() string { return s.id.fingerprint }

// Token is the secret that the run's workers and agents show. Hand it on over
// a pipe, never in an argument list.
func (s *Server) Token() string { return s.id.token }

// Cancel tells every rank, through its control connection, to stop and why;
// a rank that connects later is told at once. Only the first call counts.
func (s *Server) Cancel(reason string) {
	s.cancelOnce.Do(func() {
		s.reason = reason
		close(s.canceled)
	})
}

// Close ends the server: it takes no more requests, lets answers that are
// under way go out, closes all connections and waits until all of their
// goroutines have ended. What a rank is still sending is lost.
func (s *Server) Close() error {
	s.closed.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Server) close() error {
	// The ends of the control connections and of waits for keys.
	s.stop()
	s.gate.closePending()
	grace, cancel := context.WithTimeout(context.Background(), s.limits.goodbye)
	defer cancel()
	err := s.http.Shutdown(grace)
	if err != nil {
		// Somebody is in the middle of a body; it is cut off.
		err = s.http.Close()
	}
	end := <-s.serving
	s.conns.Wait()
	if !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	accepted, evicted := s.gate.counts()
	s.log.Debug("rendezvous closed", "connections", accepted, "strangers_evicted", evicted)
	if err != nil {
		return fmt.Errorf("rendezvous: close the server on %s: %w", s.addr, err)
	}
	return nil
}

// count follows a connection. Handlers run in its goroutine, so when the last
// connection has ended the last handler has too.
func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed:
		s.conns.Done()
	}
}

// guard stands before all routes: it looks for the token and, only with it,
// lets the request go on to its route.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.id.authorized(r) {
			s.log.Debug("request without the run's token", "method", r.Method, "remote", r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", `Bearer realm="gorovod"`)
			p := problemf(http.StatusUnauthorized, "the request does not carry this run's token")
			p.hangUp = true
			p.write(w)
			return
		}
		admitConn(r.Context())
		began := time.Now()
		next.ServeHTTP(w, r)
		s.log.Debug("request", "method", r.Method, "path", r.URL.Path, "remote", r.RemoteAddr, "took", time.Since(began))
	})
}
