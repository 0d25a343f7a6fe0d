package jupyter

import (
	"strings"
	"unicode/utf8"
)

// decoder turns the bytes of a stream into valid text. A rune that is split between two writes is kept together;
// bytes that are not UTF-8 become U+FFFD.
type decoder struct {
	rest []byte // the beginning of a rune, at most utf8.UTFMax-1 bytes
}

// decode gives the text that is complete so far.
func (d *decoder) decode(p []byte) string {
	if len(d.rest) > 0 {
		p = append(d.rest, p...)
		d.rest = nil
	}
	n := len(p) - partialRune(p)
	if n < len(p) {
		d.rest = append([]byte(nil), p[n:]...)
	}
	return strings.ToValidUTF8(string(p[:n]), "\uFFFD")
}

// flush gives what was kept back, which will not be completed any more.
func (d *decoder) flush() string {
	if len(d.rest) == 0 {
		return ""
	}
	d.rest = nil
	return "\uFFFD"
}

// partialRune gives the length of a rune's beginning at the end of p, or 0.
func partialRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		tail := p[len(p)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// cut gives the longest prefix of s of at most limit bytes that ends between runes.
func cut(s string, limit int) (head, tail string) {
	if len(s) <= limit {
		return s, ""
	}
	n := limit
	for n > 0 && n > limit-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], s[n:]
}

// byteOffset gives the byte offset of a cursor that counts code points, which is what front ends send.
func byteOffset(s string, points int) int {
	if points < 0 {
		return 0
	}
	for i := range s {
		if points == 0 {
			return i
		}
		points--
	}
	return len(s)
}

// codePoints gives the number of code points before a byte offset.
func codePoints(s string, offset int) int {
	return utf8.RuneCountInString(s[:min(max(offset, 0), len(s))])
}
