package parleyhttp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/transport/parleyhttp"
)

// BenchmarkSend is one message over loopback, beside a bare client and server
// that read and answer the same bytes.
func BenchmarkSend(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 575)
	b.Run("parley", func(b *testing.B) {
		server, err := parleyhttp.New(&parleyhttp.Options{Listen: "127.0.0.1:0"})
		if err != nil {
			b.Fatal(err)
		}
		if err := server.Listen(); err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, accept) }()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := server.Send(ctx, server.URL()+"/submit", parley.Frame{Body: body}); err != nil {
				b.Fatal(err)
			}
		}
		cancel()
		<-served
	})
	b.Run("bare", func(b *testing.B) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			_, _ = io.WriteString(w, "{}")
		}))
		defer server.Close()
		b.ReportAllocs()
		for b.Loop() {
			response, err := http.Post(server.URL, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	})
}
