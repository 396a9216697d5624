package run_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/run"
)

// The commands of this machine reach a node also where its own listener is not
// for them: its certificate is for another name, or it listens elsewhere than on
// loopback.
func TestCommandsReachANodeThatListensElsewhere(t *testing.T) {
	certFile, keyFile := certificate(t, "agents.example")
	for name, opts := range map[string]run.Options{
		"with TLS":                       {CertFile: certFile, KeyFile: keyFile},
		"on the address of an interface": {Listen: net.JoinHostPort(otherAddress(t), "0")},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Data = t.TempDir()
			a := parley.NewAgent("a", nil)
			parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Question) (Reply, error) { return Reply(in), nil })
			public := serve(t, opts, a)
			control, err := run.ReadControl(opts.Data)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"/parley/v1/agents", "/v1/almanac/agents/" + string(a.Address())} {
				request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, control.URL+path, nil)
				request.Header.Set("authorization", "Bearer "+control.Token)
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(response.Body)
				response.Body.Close()
				if response.StatusCode != http.StatusOK || !strings.Contains(string(text), string(a.Address())) || path[1] == 'v' && !strings.Contains(string(text), public+"/submit") {
					t.Errorf("%s: %d %s", path, response.StatusCode, text)
				}
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			defer client.CloseIdleConnections()
			response, err := client.Head(public + "/submit")
			if err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("the public listener: %v, %v", response, err)
			}
		})
	}
}

// otherAddress is one of this machine that is not loopback.
func otherAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	return "127.0.0.1" // a machine without network
}

// certificate makes a certificate for a name that nobody has vouched for.
func certificate(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", der)
}
