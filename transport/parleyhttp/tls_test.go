package parleyhttp_test

import (
	"crypto/x509"
	"path/filepath"
	"testing"

	"github.com/parley-agents/parley/transport/parleyhttp"
)

// certificate makes a certificate for an IP address, in files, and the pool of
// roots that knows it.
func certificate(t *testing.T, ip string) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	folder := t.TempDir()
	certFile, keyFile = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	return certFile, keyFile, parleyhttp.WriteCertificate(t, certFile, keyFile, ip)
}
