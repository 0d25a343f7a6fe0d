package rendezvous

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"
)

// action handles one method of one route. What it returns is answered as a
// problem; errAnswered means that an answer has begun already.
type action func(w http.ResponseWriter, r *http.Request) error

var errAnswered = errors.New("answered")

type methods map[string]action

func (s *Server) routes() http.Handler {
	// Keys of the store may hold any character, a slash and ".." too, so
	// paths are matched as they were sent.
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	add := func(path string, m methods) { router.Handle(path, m) }
	add("/healthz", methods{http.MethodGet: s.getHealth})
	add("/v1/program", methods{http.MethodGet: s.getProgram})
	add("/v1/ranks/{rank}", methods{http.MethodGet: s.ofRank(s.getSlot)})
	add("/v1/ranks/{rank}/control", methods{http.MethodGet: s.ofRank(s.getControl)})
	add("/v1/ranks/{rank}/output", methods{http.MethodPost: s.ofRank(s.postOutput)})
	add("/v1/ranks/{rank}/result", methods{http.MethodPut: s.ofRank(s.putResult)})
	add("/v1/ranks/{rank}/failure", methods{http.MethodPut: s.ofRank(s.putFailure)})
	add("/v1/kv/{scope}/{key}", methods{
		http.MethodGet:    s.getValue,
		http.MethodPut:    s.putValue,
		http.MethodDelete: s.deleteValue,
	})
	router.NotFoundHandler = methodless(func(_ http.ResponseWriter, r *http.Request) error {
		return problemf(http.StatusNotFound, "there is no route %s", r.URL.Path)
	})
	return router
}

// ServeHTTP implements http.Handler.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	do, ok := m[r.Method]
	if !ok {
		allowed := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
		w.Header().Set("Allow", allowed)
		problemf(http.StatusMethodNotAllowed, "%s takes %s, not %s", r.URL.Path, allowed, r.Method).write(w)
		return
	}
	methodless(do).ServeHTTP(w, r)
}

func methodless(do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := do(w, r)
		var p *problem
		switch {
		case err == nil:
		case errors.As(err, &p):
			p.write(w)
		default:
			// The answer cannot be given or completed: only the end of
			// the connection can tell the client so.
			panic(http.ErrAbortHandler)
		}
	})
}

// ofRank finds the rank that the path names.
func (s *Server) ofRank(do func(w http.ResponseWriter, r *http.Request, k *rank) error) action {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := mux.Vars(r)["rank"]
		n, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(n) != name {
			return problemf(http.StatusBadRequest, "%q is no rank: a rank is a whole number", name)
		}
		if n < 0 || n >= len(s.ranks) {
			return problemf(http.StatusNotFound, "there is no rank %d: the ranks are 0 to %d", n, len(s.ranks)-1)
		}
		return do(w, r, s.ranks[n])
	}
}

func setLength(h http.Header, n int) { h.Set("Content-Length", strconv.Itoa(n)) }

func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) error {
	return s.send(w, "text/plain; charset=utf-8", []byte("ok\n"))
}

func (s *Server) getProgram(w http.ResponseWriter, _ *http.Request) error {
	return s.send(w, "application/octet-stream", s.program)
}

func (s *Server) getSlot(w http.ResponseWriter, _ *http.Request, k *rank) error {
	body, err := json.Marshal(k.slot)
	if err != nil {
		return fmt.Errorf("encode the slot of rank %d: %w", k.slot.Rank, err)
	}
	return s.send(w, "application/json", body)
}

// controlLine is what comes down a control connection, as one line of JSON.
type controlLine struct {
	Cancel string `json:"cancel"`
}

const maxReason = 16 << 10

// getControl holds the answer open. Its body is empty until the run is
// canceled; its end without a line means that the driver is gone.
func (s *Server) getControl(w http.ResponseWriter, r *http.Request, k *rank) error {
	if !k.begin(&k.control) {
		return problemf(http.StatusConflict, "rank %d has a control connection already", k.slot.Rank)
	}
	defer s.controlEnded(k)

	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Cache-Control", "no-store")
	rc := http.NewResponseController(w)
	if err := rc.Flush(); err != nil {
		return errAnswered
	}
	select {
	case <-s.canceled:
	case <-r.Context().Done():
		return nil
	}
	line, err := json.Marshal(controlLine{Cancel: clip(s.reason, maxReason)})
	if err != nil {
		return fmt.Errorf("encode a cancellation: %w", err)
	}
	if err := rc.SetWriteDeadline(time.Now().Add(s.limits.stall)); err != nil {
		return errAnswered
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return errAnswered
	}
	if err := rc.Flush(); err != nil {
		return errAnswered
	}
	return nil
}

// controlEnded tells the driver when a rank went away that should not have.
func (s *Server) controlEnded(k *rank) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.control = false
	select {
	case <-s.canceled:
		return
	default:
	}
	if !k.reported && s.ctx.Err() == nil {
		s.events.ControlLost(k.slot.Rank)
	}
}

// outputPace lets a rank be silent for as long as it likes, but not in the
// middle of a frame.
type outputPace struct {
	rc    *http.ResponseController
	stall time.Duration
}

func (p outputPace) between() error { return p.rc.SetReadDeadline(time.Time{}) }
func (p outputPace) within() error  { return p.rc.SetReadDeadline(time.Now().Add(p.stall)) }

// postOutput takes the records of a rank until the body ends.
func (s *Server) postOutput(w http.ResponseWriter, r *http.Request, k *rank) error {
	if !k.begin(&k.output) {
		p := problemf(http.StatusConflict, "the output of rank %d has been begun already", k.slot.Rank)
		p.hangUp = true
		return p
	}
	rc := http.NewResponseController(w)
	err := s.readOutput(r.Body, outputPace{rc, s.limits.stall}, k)
	if err == nil {
		// Answered before the driver hears of it, since the driver may
		// close the server as soon as it has heard of the last rank.
		w.WriteHeader(http.StatusOK)
		rc.Flush()
	}
	if err == nil {
		k.tell(func() { s.events.OutputEnded(k.slot.Rank, nil) })
		return nil
	}
	if s.ctx.Err() == nil {
		broken := fmt.Errorf("rendezvous: read the output of rank %d: %w", k.slot.Rank, err)
		k.tell(func() { s.events.OutputEnded(k.slot.Rank, broken) })
	}
	return bodyProblem(err, fmt.Sprintf("the output of rank %d", k.slot.Rank), 0)
}

func (s *Server) readOutput(body io.Reader, p pace, k *rank) error {
	br := bufio.NewReaderSize(body, minProgress)
	for {
		rec, err := readRecord(br, p)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		k.tell(func() { s.events.Record(k.slot.Rank, rec) })
	}
}

func (s *Server) putResult(w http.ResponseWriter, r *http.Request, k *rank) error {
	return s.takeReport(w, r, k, report{
		what: fmt.Sprintf("the result of rank %d", k.slot.Rank),
		max:  s.maxResult,
		deliver: func(body []byte) (func(), error) {
			return func() { s.events.Result(k.slot.Rank, body) }, nil
		},
	})
}

func (s *Server) putFailure(w http.ResponseWriter, r *http.Request, k *rank) error {
	return s.takeReport(w, r, k, report{
		what: fmt.Sprintf("the failure of rank %d", k.slot.Rank),
		max:  s.limits.maxFailure,
		deliver: func(body []byte) (func(), error) {
			var f Failure
			if err := json.Unmarshal(body, &f); err != nil {
				return nil, problemf(http.StatusBadRequest, "the failure of rank %d is malformed: %v", k.slot.Rank, err)
			}
			if f.Kind == "" {
				return nil, problemf(http.StatusBadRequest, "the failure of rank %d has no kind", k.slot.Rank)
			}
			return func() { s.events.Failed(k.slot.Rank, f) }, nil
		},
	})
}

// report is how the end of a rank is taken: as a result or as a failure.
type report struct {
	what    string
	max     int64
	deliver func(body []byte) (tell func(), err error)
}

// takeReport takes the first report of a rank and refuses all others, unless
// it is the first one again, sent by a client that did not hear the answer.
func (s *Server) takeReport(w http.ResponseWriter, r *http.Request, k *rank, rep report) error {
	key := r.Header.Get(idempotencyKey)
	k.mu.Lock()
	repeated, taken := k.reported && key != "" && key == k.report, k.reported
	k.mu.Unlock()
	if taken && !repeated {
		p := problemf(http.StatusConflict, "rank %d has given its result or failure already", k.slot.Rank)
		p.hangUp = true
		return p
	}
	body, err := s.readBody(w, r, rep.what, rep.max)
	if err != nil {
		return err
	}
	if repeated {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	tell, err := rep.deliver(body)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.reported:
		k.reported, k.report = true, key
		tell()
	case key == "" || key != k.report:
		return problemf(http.StatusConflict, "rank %d has given its result or failure already", k.slot.Rank)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

const maxKeyLength = 1 << 10

// storeKeyOf reads the key that the path names.
func storeKeyOf(r *http.Request) (storeKey, error) {
	vars := mux.Vars(r)
	scope, err1 := url.PathUnescape(vars["scope"])
	key, err2 := url.PathUnescape(vars["key"])
	if err := errors.Join(err1, err2); err != nil {
		return storeKey{}, problemf(http.StatusBadRequest, "the key is malformed: %v", err)
	}
	if len(scope) > maxKeyLength || len(key) > maxKeyLength {
		return storeKey{}, problemf(http.StatusBadRequest, "a scope and a key have at most %d bytes each", maxKeyLength)
	}
	return storeKey{scope, key}, nil
}

func (s *Server) getValue(w http.ResponseWriter, r *http.Request) error {
	k, err := storeKeyOf(r)
	if err != nil {
		return err
	}
	var wait time.Duration
	if text := r.URL.Query().Get("wait"); text != "" {
		wait, err = time.ParseDuration(text)
		if err != nil || wait < 0 {
			return problemf(http.StatusBadRequest, "%q is no time to wait: give one like 10s", text)
		}
	}
	wait = min(wait, s.limits.maxWait)
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	value, ok := s.kv.get(ctx, k)
	switch {
	case ok:
		return s.send(w, "application/octet-stream", value)
	case s.ctx.Err() != nil:
		return problemf(http.StatusServiceUnavailable, "the run ended while %s was waited for", k)
	}
	return problemf(http.StatusNotFound, "there is no %s (waited %s)", k, wait)
}

func (s *Server) putValue(w http.ResponseWriter, r *http.Request) error {
	k, err := storeKeyOf(r)
	if err != nil {
		return err
	}
	value, err := s.readBody(w, r, "the value", s.limits.maxValue)
	if err != nil {
		return err
	}
	if !s.kv.put(k, value) {
		return problemf(http.StatusInsufficientStorage, "the store holds at most %d bytes: delete what is not needed, "+
			"and send large data through collectives", s.limits.maxStoreBytes)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) deleteValue(w http.ResponseWriter, r *http.Request) error {
	k, err := storeKeyOf(r)
	if err != nil {
		return err
	}
	s.kv.remove(k)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
