package parleyhttp

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// atLeast12 copies a configuration, never one that speaks less than TLS 1.2.
func atLeast12(c *tls.Config) *tls.Config {
	if c == nil {
		c = &tls.Config{}
	}
	c = c.Clone()
	c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	c.NextProtos = nil // HTTP/1.1 only, as the peers
	return c
}

// serverTLS returns the configuration of the server, nil for none.
func serverTLS(o *Options) (*tls.Config, error) {
	if o.CertFile == "" && o.ServerTLS == nil {
		return nil, nil
	}
	c := atLeast12(o.ServerTLS)
	if o.CertFile == "" {
		if len(c.Certificates) == 0 && c.GetCertificate == nil && c.GetConfigForClient == nil {
			return nil, fmt.Errorf("parleyhttp: ServerTLS has no certificate, and there is no CertFile")
		}
		return c, nil
	}
	files := &certFiles{cert: o.CertFile, key: o.KeyFile, log: o.Logger}
	if err := files.load(); err != nil {
		return nil, fmt.Errorf("parleyhttp: %w", err)
	}
	c.Certificates = nil
	c.GetCertificate = files.get
	return c, nil
}

// certFiles is a certificate in files. Certificates are renewed every few weeks
// and nodes run longer than that, so the files are looked at again.
type certFiles struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	changed [2]time.Time
	checked time.Time
}

const recheckCert = time.Minute

func (f *certFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) >= recheckCert {
		if err := f.load(); err != nil { // half written, perhaps: the old one still serves
			f.log.Warn("the certificate cannot be read again", "error", err)
		}
	}
	return f.loaded, nil
}

func (f *certFiles) load() error {
	f.checked = time.Now()
	var changed [2]time.Time
	for i, name := range []string{f.cert, f.key} {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		changed[i] = info.ModTime()
	}
	if f.loaded != nil && changed == f.changed {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return err
	}
	f.loaded, f.changed = &cert, changed
	return nil
}
