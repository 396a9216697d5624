package parleyhttp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

func TestCertificatesAreReadAgain(t *testing.T) {
	folder := t.TempDir()
	cert, key := folder+"/cert.pem", folder+"/key.pem"
	WriteCertificate(t, cert, key, "127.0.0.1")
	files := &certFiles{cert: cert, key: key, log: slog.New(slog.DiscardHandler)}
	if err := files.load(); err != nil {
		t.Fatal(err)
	}
	first, _ := files.get(nil)
	touch := func(at time.Time) {
		for _, name := range []string{cert, key} {
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
		files.checked = time.Time{}
	}

	unchanged, _ := files.get(nil)
	WriteCertificate(t, cert, key, "127.0.0.1")
	tooEarly, _ := files.get(nil)
	touch(time.Now().Add(time.Minute))
	renewed, _ := files.get(nil)
	if err := os.WriteFile(cert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	touch(time.Now().Add(2 * time.Minute))
	kept, _ := files.get(nil)

	if unchanged != first || tooEarly != first {
		t.Error("the certificate changed though the files did not, or were not to be looked at")
	}
	if renewed == first {
		t.Error("the renewed certificate was not read")
	}
	if kept != renewed {
		t.Error("a broken file replaced a certificate that works")
	}
}

// WriteCertificate writes a certificate for an IP address and its key, and returns
// the pool of roots that knows it.
func WriteCertificate(t *testing.T, certFile, keyFile, ip string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.ParseIP(ip)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return roots
}
