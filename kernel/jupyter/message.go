package jupyter

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// protocolVersion is the version of the messaging specification that this package holds to.
const protocolVersion = "5.4"

// delimiter parts the routing identities of a message from its signed frames.
const delimiter = "<IDS|MSG>"

// Header is what a message says of itself.
type Header struct {
	ID       string `json:"msg_id"`
	Type     string `json:"msg_type"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Version  string `json:"version"`
}

// message is one message as it came or as it goes. The JSON parts are kept as they are: the signature covers their
// bytes, and a reply quotes its request's header with whatever more the client has put there.
type message struct {
	identities [][]byte
	header     Header
	rawHeader  json.RawMessage
	parent     json.RawMessage
	metadata   json.RawMessage
	content    json.RawMessage
	buffers    [][]byte
}

var (
	errSignature = errors.New("its signature is wrong")
	errReplayed  = errors.New("it was seen before")
)

// signer signs messages and checks signatures. Without a key it does neither.
type signer struct {
	key []byte

	mu     sync.Mutex
	seen   map[[sha256.Size]byte]struct{}
	order  [][sha256.Size]byte // a ring of what is in seen, to forget the oldest
	oldest int
}

// rememberedSignatures is how many messages back a replay is noticed: as many as Jupyter's own client.
const rememberedSignatures = 1 << 16

func newSigner(key string) *signer {
	return &signer{key: []byte(key), seen: map[[sha256.Size]byte]struct{}{}}
}

func (s *signer) sum(parts [][]byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	for _, p := range parts {
		mac.Write(p)
	}
	return mac.Sum(nil)
}

// sign gives the signature frame of a message.
func (s *signer) sign(parts [][]byte) []byte {
	if len(s.key) == 0 {
		return []byte{}
	}
	return hex.AppendEncode(nil, s.sum(parts))
}

// verify checks a signature frame and remembers it.
func (s *signer) verify(signature []byte, parts [][]byte) error {
	if len(s.key) == 0 {
		return nil
	}
	given, err := hex.DecodeString(string(signature))
	if err != nil || !hmac.Equal(given, s.sum(parts)) {
		return errSignature
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := [sha256.Size]byte(given)
	if _, dup := s.seen[sum]; dup {
		return errReplayed
	}
	s.seen[sum] = struct{}{}
	if len(s.order) < rememberedSignatures {
		s.order = append(s.order, sum)
		return nil
	}
	delete(s.seen, s.order[s.oldest])
	s.order[s.oldest] = sum
	s.oldest = (s.oldest + 1) % rememberedSignatures
	return nil
}

// parse reads a message from its frames: identities, the delimiter, the signature, four dictionaries, buffers.
func (s *signer) parse(frames [][]byte) (*message, error) {
	at := -1
	for i, f := range frames {
		if string(f) == delimiter {
			at = i
			break
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("it has no %s frame", delimiter)
	}
	body := frames[at+1:]
	if len(body) < 5 {
		return nil, fmt.Errorf("it has %d frames after %s, and not the 5 of a message", len(body), delimiter)
	}
	if err := s.verify(body[0], body[1:5]); err != nil {
		return nil, err
	}
	m := &message{
		identities: frames[:at],
		rawHeader:  body[1], parent: body[2], metadata: body[3], content: body[4],
		buffers: body[5:],
	}
	for i, name := range []string{"header", "parent header", "metadata", "content"} {
		part := bytes.TrimSpace(body[1+i])
		if len(part) == 0 || part[0] != '{' || !json.Valid(part) {
			return nil, fmt.Errorf("its %s is not a JSON object", name)
		}
	}
	if err := json.Unmarshal(m.rawHeader, &m.header); err != nil {
		return nil, fmt.Errorf("its header cannot be read: %w", err)
	}
	if m.header.Type == "" {
		return nil, errors.New("its header has no msg_type")
	}
	return m, nil
}

// frames gives the message as it goes onto a socket. prefix is the identities, or the topic.
func (s *signer) frames(m *message) [][]byte {
	parts := [][]byte{m.rawHeader, m.parent, m.metadata, m.content}
	out := make([][]byte, 0, len(m.identities)+6+len(m.buffers))
	out = append(out, m.identities...)
	out = append(out, []byte(delimiter), s.sign(parts))
	out = append(out, parts...)
	return append(out, m.buffers...)
}

// composer makes the messages of one kernel process: one session, numbered.
type composer struct {
	session string
	count   atomic.Uint64
}

func newComposer() *composer {
	return &composer{session: rand.Text()}
}

// compose makes a message. parent is the raw header of the request that it belongs to, or nil.
func (c *composer) compose(kind string, parent json.RawMessage, content, metadata any) (*message, error) {
	h := Header{
		ID:      fmt.Sprintf("%s_%d", c.session, c.count.Add(1)),
		Type:    kind,
		Session: c.session, Username: "kernel",
		Date:    timestamp(time.Now()),
		Version: protocolVersion,
	}
	m := &message{header: h, parent: parent}
	var err error
	if m.rawHeader, err = marshal(h); err != nil {
		return nil, fmt.Errorf("write the header of a %s: %w", kind, err)
	}
	if m.content, err = marshal(content); err != nil {
		return nil, fmt.Errorf("write a %s: %w", kind, err)
	}
	if m.metadata, err = marshal(metadata); err != nil {
		return nil, fmt.Errorf("write the metadata of a %s: %w", kind, err)
	}
	if len(m.parent) == 0 {
		m.parent = json.RawMessage("{}")
	}
	return m, nil
}

// marshal gives JSON without escaping HTML, which would only make it longer. Nil is an empty object.
func marshal(v any) (json.RawMessage, error) {
	if v == nil {
		return json.RawMessage("{}"), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
