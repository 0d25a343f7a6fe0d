package jupyter

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestSentBeforeFailure(t *testing.T) {
	failed := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	tests := map[string]struct {
		date    string
		arrived time.Duration // after the failure
		want    bool
	}{
		"on its way":               {"2026-01-02T03:04:05.670000Z", 5 * time.Millisecond, true},
		"in another zone":          {"2026-01-02T05:04:05.670+02:00", 5 * time.Millisecond, true},
		"arrived long after":       {"2026-01-02T03:04:05.670000Z", time.Second, false},
		"sent after":               {"2026-01-02T03:04:05.679000Z", 5 * time.Millisecond, false},
		"the same millisecond":     {"2026-01-02T03:04:05.678Z", 5 * time.Millisecond, false},
		"a date that is none":      {"yesterday", 5 * time.Millisecond, false},
		"a date without a zone":    {"2026-01-02T03:04:05.670000", 5 * time.Millisecond, false},
		"a clock that runs behind": {"2025-01-02T03:04:05Z", 5 * time.Millisecond, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := &cells{failedAt: failed}
			a := arrival{m: &message{header: Header{Date: tt.date}}, at: failed.Add(tt.arrived)}
			if got := c.sentBeforeFailure(a); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if (&cells{}).sentBeforeFailure(arrival{m: &message{}, at: failed}) {
		t.Error("without a failure")
	}
}

func TestSignerForgetsTheOldest(t *testing.T) {
	s := newSigner("k")
	parts := func(i int) [][]byte {
		return [][]byte{[]byte(strings.Repeat("x", i%7)), {byte(i), byte(i >> 8), byte(i >> 16)}}
	}
	for i := range rememberedSignatures + 10 {
		if err := s.verify(s.sign(parts(i)), parts(i)); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if len(s.seen) != rememberedSignatures || len(s.order) != rememberedSignatures {
		t.Errorf("%d signatures are remembered", len(s.seen))
	}
	if err := s.verify(s.sign(parts(9)), parts(9)); err != nil {
		t.Errorf("a forgotten one: %v", err)
	}
	if err := s.verify(s.sign(parts(11)), parts(11)); err != errReplayed {
		t.Errorf("a remembered one: %v", err)
	}
}

func TestDecoderTakesAnyPieces(t *testing.T) {
	texts := map[string]string{
		"aé日𝔘":         "aé日𝔘",
		"":             "",
		"\xff":         "\uFFFD",
		"a\xe6\x97b":   "a\uFFFDb",
		"\xf0\x9d":     "\uFFFD",
		"日\x80本":       "日\uFFFD本",
		"\xc0\xaf\xed": "\uFFFD",
	}
	for in, want := range texts {
		for size := 1; size <= len(in)+1; size++ {
			var d decoder
			got := ""
			for rest := []byte(in); len(rest) > 0; {
				n := min(size, len(rest))
				got += d.decode(rest[:n])
				rest = rest[n:]
			}
			got += d.flush()
			// Bytes that are not UTF-8 may become one mark or several, according to how they come.
			for strings.Contains(got, "\uFFFD\uFFFD") {
				got = strings.ReplaceAll(got, "\uFFFD\uFFFD", "\uFFFD")
			}
			if got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", in, size, got, want)
			}
		}
	}
}

func TestCutAndOffsets(t *testing.T) {
	const s = "aé日𝔘z"
	for limit := utf8.UTFMax; limit <= len(s); limit++ {
		rest, n := s, 0
		for rest != "" {
			var head string
			head, rest = cut(rest, limit)
			if head == "" || len(head) > limit || !utf8.ValidString(head) {
				t.Fatalf("limit %d: %q", limit, head)
			}
			n += len(head)
		}
		if n != len(s) {
			t.Errorf("limit %d: %d bytes", limit, n)
		}
	}
	for points, want := range []int{0, 1, 3, 6, 10, 11, 11, 11} {
		if got := byteOffset(s, points); got != want {
			t.Errorf("byteOffset(%d) = %d, want %d", points, got, want)
		}
		if points <= 5 && codePoints(s, want) != points {
			t.Errorf("codePoints(%d) = %d, want %d", want, codePoints(s, want), points)
		}
	}
	if byteOffset(s, -1) != 0 || codePoints(s, -1) != 0 || codePoints(s, 100) != 5 {
		t.Error("offsets out of range")
	}
}

func FuzzParse(f *testing.F) {
	const sep = "\x00"
	s := newSigner("")
	c := newComposer()
	m, err := c.compose("execute_request", nil, map[string]any{"code": "x"}, nil)
	if err != nil {
		f.Fatal(err)
	}
	m.identities = [][]byte{[]byte("id")}
	var seed []string
	for _, frame := range s.frames(m) {
		seed = append(seed, string(frame))
	}
	f.Add(strings.Join(seed, sep))
	f.Add("<IDS|MSG>" + sep + sep + `{"msg_type":"execute_request"}` + sep + "{}" + sep + "{}" + sep + `{"code":"a","user_expressions":{"a":1}}`)
	f.Add("<IDS|MSG>")
	f.Fuzz(func(t *testing.T, joined string) {
		var frames [][]byte
		for _, part := range strings.Split(joined, sep) {
			frames = append(frames, []byte(part))
		}
		m, err := newSigner("").parse(frames)
		if err != nil {
			return
		}
		if m.header.Type == "" {
			t.Error("a message without a type")
		}
		if req, err := parseExecute(m); err == nil && req.Silent && req.StoreHistory {
			t.Error("a silent cell in the history")
		}
		var p position
		if decode(m.content, &p) == nil {
			if at := p.offset(); at < 0 || at > len(p.Code) || at < len(p.Code) && !utf8.RuneStart(p.Code[at]) && utf8.ValidString(p.Code) {
				t.Errorf("cursor %d in %q", at, p.Code)
			}
		}
		// With a key, the same frames are refused: nobody has signed them.
		if _, err := newSigner("key").parse(frames); err == nil {
			t.Error("an unsigned message was taken")
		}
		if _, err := newComposer().compose("reply", m.rawHeader, map[string]any{}, nil); err != nil {
			t.Errorf("no reply can be made: %v", err)
		}
	})
}
