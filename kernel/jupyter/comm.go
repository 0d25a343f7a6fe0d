package jupyter

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
)

// CommTarget makes the kernel's side of a comm that a front end opens. An error closes the comm at once.
type CommTarget func(c *Comm, opened CommMessage) (CommHandler, error)

// CommHandler takes what comes through a comm. Its methods are called for one message at a time, in order.
type CommHandler interface {
	Message(c *Comm, m CommMessage)
	Closed(c *Comm, m CommMessage)
}

// CommMessage is a message of a comm. Buffers are binary data that travels beside the JSON.
type CommMessage struct {
	Data     json.RawMessage
	Metadata json.RawMessage
	Buffers  [][]byte
}

// Comm is an open channel to a front end. Its methods may be called by any goroutine.
type Comm struct {
	ID     string
	Target string

	comms   *comms
	handler CommHandler

	mu   sync.Mutex
	from *origin // the request in which the comm was last heard of
}

// Send sends data, which must be something that is a JSON object, and buffers.
func (c *Comm) Send(data any, buffers ...[]byte) error {
	return c.comms.send(c, "comm_msg", map[string]any{"comm_id": c.ID, "data": data}, buffers)
}

// Close tells the front end that the comm has ended.
func (c *Comm) Close(data any) error {
	if !c.comms.forget(c.ID) {
		return fmt.Errorf("close comm %s: it is closed already", c.ID)
	}
	if data == nil {
		data = map[string]any{}
	}
	return c.comms.send(c, "comm_close", map[string]any{"comm_id": c.ID, "data": data}, nil)
}

func (c *Comm) heard(from *origin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = from
}

// comms knows the open comms and the targets that a front end can open.
type comms struct {
	s       *Server
	targets map[string]CommTarget

	mu    sync.Mutex
	known map[string]*Comm
}

func newComms(s *Server, targets map[string]CommTarget) *comms {
	return &comms{s: s, targets: targets, known: map[string]*Comm{}}
}

func (cs *comms) send(c *Comm, kind string, content map[string]any, buffers [][]byte) error {
	c.mu.Lock()
	from := c.from
	c.mu.Unlock()
	if err := cs.s.iopub.publishFull(from, kind, content, nil, buffers); err != nil {
		return fmt.Errorf("send to comm %s: %w", c.ID, err)
	}
	return nil
}

func (cs *comms) remember(c *Comm) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.known[c.ID] = c
}

func (cs *comms) forget(id string) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	_, ok := cs.known[id]
	delete(cs.known, id)
	return ok
}

func (cs *comms) get(id string) *Comm {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.known[id]
}

// info lists the open comms, of one target or of all.
func (cs *comms) info(target string) map[string]any {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	list := map[string]any{}
	for id, c := range cs.known {
		if target == "" || c.Target == target {
			list[id] = map[string]any{"target_name": c.Target}
		}
	}
	return list
}

// open opens a comm from the kernel's side.
func (cs *comms) open(from *origin, target string, data any, h CommHandler) (*Comm, error) {
	if data == nil {
		data = map[string]any{}
	}
	c := &Comm{ID: rand.Text(), Target: target, comms: cs, handler: h, from: from}
	cs.remember(c)
	err := cs.send(c, "comm_open", map[string]any{"comm_id": c.ID, "target_name": target, "data": data}, nil)
	if err != nil {
		cs.forget(c.ID)
		return nil, err
	}
	return c, nil
}

// handle takes a comm message from a front end. from is its request.
func (cs *comms) handle(m *message, from *origin) {
	var content struct {
		ID     string          `json:"comm_id"`
		Target string          `json:"target_name"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(m.content, &content); err != nil || content.ID == "" {
		cs.s.log.Warn("comm message ignored: it names no comm", "type", m.header.Type, "error", err)
		return
	}
	cm := CommMessage{Data: content.Data, Metadata: m.metadata, Buffers: m.buffers}
	if m.header.Type == "comm_open" {
		cs.opened(&Comm{ID: content.ID, Target: content.Target, comms: cs, from: from}, cm)
		return
	}
	c := cs.get(content.ID)
	if c == nil {
		cs.s.log.Debug("comm message ignored: the comm is not open", "type", m.header.Type, "comm", content.ID)
		return
	}
	c.heard(from)
	if m.header.Type == "comm_close" {
		cs.forget(c.ID)
		cs.s.guard("a comm's Closed", func() { c.handler.Closed(c, cm) })
		return
	}
	cs.s.guard("a comm's Message", func() { c.handler.Message(c, cm) })
}

// opened takes a comm that a front end opens, and closes it when its target is not known or does not want it.
func (cs *comms) opened(c *Comm, m CommMessage) {
	target := cs.targets[c.Target]
	reason := error(nil)
	if target == nil {
		reason = fmt.Errorf("the kernel has no comm target %q", c.Target)
	} else {
		reason = fmt.Errorf("comm target %q failed", c.Target) // what stands if it panics
		cs.remember(c)
		cs.s.guard("a comm target", func() { c.handler, reason = target(c, m) })
	}
	if reason == nil && c.handler != nil {
		return
	}
	cs.forget(c.ID)
	cs.s.log.Info("comm closed at once", "target", c.Target, "reason", reason)
	if err := cs.send(c, "comm_close", map[string]any{"comm_id": c.ID, "data": map[string]any{}}, nil); err != nil {
		cs.s.log.Error("cannot close a comm", "error", err)
	}
}
