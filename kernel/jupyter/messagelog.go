package jupyter

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"
)

// messageLog writes every message as a line of JSON, for finding out who said what.
type messageLog struct {
	log *slog.Logger

	mu sync.Mutex
	w  io.Writer // nil: nothing is written
}

// logEntry is a line of the log. What a user typed at a prompt, which may be a password, is not in it.
type logEntry struct {
	Time       time.Time       `json:"time"`
	Direction  string          `json:"direction"` // "recv" or "send"
	Channel    string          `json:"channel"`
	Identities []string        `json:"identities,omitempty"` // hexadecimal; a topic is plain
	Header     json.RawMessage `json:"header"`
	Parent     json.RawMessage `json:"parent_header"`
	Metadata   json.RawMessage `json:"metadata"`
	Content    json.RawMessage `json:"content"`
	Buffers    []int           `json:"buffers,omitempty"` // lengths
}

func (l *messageLog) write(direction, channel string, m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return
	}
	e := logEntry{
		Time: time.Now(), Direction: direction, Channel: channel,
		Header: m.rawHeader, Parent: m.parent, Metadata: m.metadata, Content: m.content,
	}
	for _, id := range m.identities {
		if channel == chanIOPub {
			e.Identities = append(e.Identities, string(id))
		} else {
			e.Identities = append(e.Identities, hex.EncodeToString(id))
		}
	}
	for _, b := range m.buffers {
		e.Buffers = append(e.Buffers, len(b))
	}
	if m.header.Type == "input_reply" {
		e.Content = json.RawMessage(`{"value":"(not logged)"}`)
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	if err != nil {
		l.log.Error("the message log cannot be written and ends here", "error", err)
		l.w = nil
	}
}
