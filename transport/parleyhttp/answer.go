package parleyhttp

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

// Headers in the form in which net/http keeps them.
const (
	headerParley  = "X-Parley"
	headerError   = "X-Parley-Error"
	headerAddress = "X-Uagents-Address"
)

// Values of headers, shared by all answers.
var (
	serverName = []string{"parley"}
	headerYes  = []string{"1"}
	corsOrigin = []string{"*"}
	corsVerbs  = []string{"GET, POST, OPTIONS"}
	corsNoAuth = []string{"false"}
)

// allowEverybody lets web pages of any origin ask, as the peers do.
func allowEverybody(h http.Header) {
	h["Access-Control-Allow-Origin"] = corsOrigin
	h["Access-Control-Allow-Methods"] = corsVerbs
	h["Access-Control-Allow-Headers"] = corsOrigin
	h["Access-Control-Allow-Credentials"] = corsNoAuth
}

// closeAfter makes this the last answer on the connection.
func (r *request) closeAfter() { r.w.Header()["Connection"] = []string{"close"} }

// answer writes the whole answer. A body that was not read is not waited for,
// and when the server stops, a client must not count on the connection.
func (r *request) answer(status int, contentType string, body []byte) {
	r.answered = true
	if r.body != nil && !r.body.ended || r.server.isStopping() {
		r.closeAfter()
	}
	_ = r.control.SetWriteDeadline(time.Now().Add(r.server.opts.Timeouts.Write))
	h := r.w.Header()
	if contentType != "" {
		h["Content-Type"] = []string{contentType}
	}
	if body != nil && r.Method != http.MethodHead {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	r.w.WriteHeader(status)
	_, _ = r.w.Write(body) // a client that is gone needs no answer
}

// refuse answers {"error": text}.
func (r *request) refuse(status int, text string) { r.answer(status, typeJSON, errorText(text)) }

func errorText(text string) []byte {
	b := append([]byte(`{"error": `), pyjson.AppendString(nil, text, pyjson.Spaced)...)
	return append(b, '}')
}

// fail answers an error of deliver. Whatever was refused is 400, as from the
// peers; the code tells the cases apart.
func (r *request) fail(err error) {
	e, ok := errors.AsType[*parley.Error](err)
	if !ok {
		e = &fault.Error{Code: fault.Internal}
	}
	r.blame(e)
	switch e.Code {
	case fault.Internal, fault.Unknown:
		r.server.opts.Logger.Error("a message was not taken", "peer", r.peer(), "error", err)
		r.refuse(http.StatusInternalServerError, "internal error")
	case fault.TooLarge:
		r.refuse(http.StatusRequestEntityTooLarge, e.Text)
	case fault.Unavailable:
		r.refuse(http.StatusServiceUnavailable, e.Text)
	default:
		r.refuse(http.StatusBadRequest, e.Text)
	}
}

// blame names the code and the field of an error in a header, where the peers'
// bodies have no place for them.
func (r *request) blame(e *parley.Error) {
	text := string(e.Code)
	if e.Field != "" {
		const most = 200
		text += "; field=" + strconv.QuoteToASCII(e.Field[:min(len(e.Field), most)])
	}
	r.w.Header()[headerError] = []string{text}
}

// overload answers a request that was not admitted.
func (r *request) overload(o *overload) {
	r.w.Header()["Retry-After"] = []string{strconv.Itoa(o.seconds)}
	r.refuse(o.status, o.text)
}
