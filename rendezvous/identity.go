package rendezvous

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"time"
)

// identity is what a server and its clients know each other by: the
// certificate that the server shows and the token that the clients show. Both
// are made for one server and never written to a file.
type identity struct {
	certificate tls.Certificate
	fingerprint string
	token       string
	tokenSum    [sha256.Size]byte
}

func newIdentity() (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "gorovod run"},
		// Clients compare the fingerprint and nothing else, since the
		// clocks of hosts differ; the dates only have to be well formed.
		NotBefore:   now.Add(-24 * time.Hour),
		NotAfter:    now.AddDate(10, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	token := rand.Text() + rand.Text()
	return &identity{
		certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		fingerprint: fingerprint(der),
		token:       token,
		tokenSum:    sha256.Sum256([]byte(token)),
	}, nil
}

// fingerprint is the SHA-256 sum of a certificate's DER form, in hexadecimal.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// authorized tells whether the request carries the token. Sums are compared,
// so that the time taken tells nothing of the token, its length included.
func (id *identity) authorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	same := subtle.ConstantTimeCompare(sum[:], id.tokenSum[:]) == 1
	return same && strings.EqualFold(scheme, "Bearer")
}

func (id *identity) serverTLS() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{id.certificate},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"http/1.1"},
		// A client keeps its connections; there is nothing to resume.
		SessionTicketsDisabled: true,
		// Bodies are large, so full records from the first byte on.
		DynamicRecordSizingDisabled: true,
	}
}

// FingerprintError says that another certificate was found at the driver's
// address than the one that the client was told of: another program answers
// there, or another run's driver.
type FingerprintError struct {
	Addr      string // where
	Got, Want string
}

func (e *FingerprintError) Error() string {
	return fmt.Sprintf("the certificate at %s has the fingerprint %.16s…, not %.16s…: not this run's driver answers there; "+
		"check that the address is the driver's own and that nothing stands in between", e.Addr, e.Got, e.Want)
}

// clientTLS accepts the certificate with the given fingerprint and no other.
func clientTLS(addr, want string) *tls.Config {
	want = strings.ToLower(strings.ReplaceAll(want, ":", ""))
	return &tls.Config{
		MinVersion:                  tls.VersionTLS13,
		NextProtos:                  []string{"http/1.1"},
		DynamicRecordSizingDisabled: true,
		// The check by name and authority is replaced, not left out: TLS
		// still proves that the server holds the certificate's key, and
		// VerifyConnection proves that the certificate is the run's.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errors.New("the server shows no certificate")
			}
			got := fingerprint(state.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
				return &FingerprintError{Addr: addr, Got: got, Want: want}
			}
			return nil
		},
	}
}
