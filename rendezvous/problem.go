package rendezvous

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// problem is an error answer in the form of RFC 9457. The type member is left
// out, which stands for about:blank: the status says all there is to say by
// machine, the detail says the rest to people.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// hangUp closes the connection after the answer.
	hangUp bool
}

func (p *problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Title, p.Detail) }

func problemf(status int, format string, args ...any) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

func (p *problem) write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil {
		// Two strings and an int always have a JSON form.
		panic(fmt.Sprintf("rendezvous: encode a problem: %v", err))
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if p.hangUp {
		h.Set("Connection", "close")
	}
	w.WriteHeader(p.Status)
	w.Write(body)
}
