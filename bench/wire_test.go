package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/google/uuid"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

const rounds = 5

// message is the 52-byte payload that all measurements use; the envelope around
// it has 575 bytes.
const message = `{"text":"hello there, how are you today?","n":12345}`

var session = uuid.MustParse("6b1f3a58-6ad3-4f0c-9a53-0c5b6f5f8a10")

const schema = "model:0b2f1c6f1d9e4a7c8b3f2e1d0c9b8a7f6e5d4c3b2a1908f7e6d5c4b3a2918f7e"

// BenchmarkWire prints CPU time per operation of Parley, of the bare signature
// library and of the Python library, as medians of interleaved rounds.
func BenchmarkWire(b *testing.B) {
	w := newWire(b)
	operations := []struct {
		name string
		run  func()
		per  int // calls in a round
	}{
		{"open, new sender", w.openNew, 400},
		{"open, frequent sender", w.openFrequent, 1000},
		{"seal", w.seal, 1000},
		{"schema digest", w.schemaDigest, 500},
		{"manifest digest", w.manifestDigest, 500},
		{"bare verify, key parsed", w.bareVerify, 400},
		{"bare sign", w.bareSign, 1000},
	}
	ours := make(map[string][]float64)
	theirs := make(map[string][]float64)
	for range rounds {
		for _, op := range operations {
			ours[op.name] = append(ours[op.name], cpuPerCall(op.run, op.per))
		}
		for name, ns := range w.python(b) {
			theirs[name] = append(theirs[name], ns)
		}
	}
	report(ours, theirs)
	for range b.N { // the framework wants a loop; the table above is the result
	}
}

type row struct {
	ours, theirs string
	aim          float64
}

func report(ours, theirs map[string][]float64) {
	fmt.Printf("\nCPU time per operation, median of %d interleaved rounds\n", rounds)
	fmt.Printf("%-24s %12s %12s %8s %8s\n", "", "Parley", "Python", "ratio", "aim")
	for _, r := range []row{
		{"open, new sender", "open", 12}, {"open, frequent sender", "open", 30}, {"seal", "seal", 0},
		{"schema digest", "schema digest", 0}, {"manifest digest", "manifest digest", 0},
	} {
		x, y := median(ours[r.ours]), median(theirs[r.theirs])
		ratio, aim := "", ""
		if y > 0 {
			ratio = fmt.Sprintf("%.1fx", y/x)
		}
		if r.aim > 0 {
			aim = fmt.Sprintf("%.0fx", r.aim)
		}
		fmt.Printf("%-24s %9.1f µs %9.1f µs %8s %8s\n", r.ours, x/1e3, y/1e3, ratio, aim)
	}
	for _, r := range []row{{"open, new sender", "bare verify, key parsed", 90}, {"seal", "bare sign", 0}} {
		x, y := median(ours[r.ours]), median(ours[r.theirs])
		fmt.Printf("%-24s %9.1f µs: %.0f %% of the bare primitive's speed (%.1f µs)", r.ours, x/1e3, 100*y/x, y/1e3)
		if r.aim > 0 {
			fmt.Printf(", aim %.0f %%", r.aim)
		}
		fmt.Println()
	}
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// cpuPerCall measures processor time, which other programs on the machine
// disturb least.
func cpuPerCall(run func(), calls int) float64 {
	start := cpu()
	for range calls {
		run()
	}
	return float64(cpu()-start) / float64(calls)
}

func cpu() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// A wire holds what the operations work on.
type wire struct {
	key      *identity.Key
	target   identity.Address
	envelope []byte
	frequent *identity.Verifier
	chat     spec.Type
	protocol *spec.Protocol

	bareKey       *secp256k1.PrivateKey
	barePublic    []byte
	bareDigest    [32]byte
	bareSignature *ecdsa.Signature
}

func newWire(b *testing.B) *wire {
	b.Helper()
	w := &wire{frequent: identity.NewVerifier(nil)}
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	var err error
	w.key, err = identity.FromSeed("bench sender", 0)
	must(err)
	target, err := identity.FromSeed("bench target", 0)
	must(err)
	w.target = target.Address()
	e := &uagents.Envelope{Version: 1, Sender: w.key.Address(), Target: w.target, Session: session, SchemaDigest: schema, Expires: new(uint64(1893456000))}
	e.SetPayload([]byte(message))
	e.Sign(w.key)
	w.envelope = e.Encode()
	for range 200 {
		w.openFrequent()
	}
	w.readChat(b)
	w.bareKey, err = secp256k1.GeneratePrivateKey()
	must(err)
	w.barePublic = w.bareKey.PubKey().SerializeCompressed()
	w.bareDigest = e.Digest()
	w.bareSignature = ecdsa.Sign(w.bareKey, w.bareDigest[:])
	return w
}

func (w *wire) readChat(b *testing.B) {
	b.Helper()
	text, err := vectors.Read("protocols.json")
	if err != nil {
		b.Fatal(err)
	}
	var file struct {
		Protocols []struct {
			ID       string
			Manifest json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		b.Fatal(err)
	}
	for _, p := range file.Protocols {
		if p.ID != "chat" {
			continue
		}
		if w.protocol, err = spec.ParseManifest(p.Manifest); err != nil {
			b.Fatal(err)
		}
	}
	w.chat = w.protocol.Message("ChatMessage").Body
}

// python runs the same operations in the real library.
func (w *wire) python(b *testing.B) map[string]float64 {
	b.Helper()
	interpreter := os.Getenv("PARLEY_PYTHON")
	if interpreter == "" {
		b.Log("PARLEY_PYTHON is not set: no comparison with Python; `make bench` sets it")
		return nil
	}
	cmd := exec.CommandContext(b.Context(), interpreter, "python/wire.py", "1", string(w.envelope))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	var times map[string]float64
	if err := json.Unmarshal(out, &times); err != nil {
		b.Fatal(err)
	}
	return times
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// openNew opens with a verifier that has never met the sender.
func (w *wire) openNew() {
	_, err := uagents.Open(w.envelope, identity.NewVerifier(nil))
	check(err)
}

func (w *wire) openFrequent() {
	_, err := uagents.Open(w.envelope, w.frequent)
	check(err)
}

func (w *wire) seal() {
	e, err := uagents.Seal(w.key, &uagents.Draft{
		Target: w.target, Session: session, SchemaDigest: schema, Payload: []byte(message), Expires: 1893456000, Nonce: 7,
	})
	check(err)
	e.Encode()
}

func (w *wire) schemaDigest() {
	_, err := spec.Digest(w.chat)
	check(err)
}

func (w *wire) manifestDigest() {
	_, err := w.protocol.Digest("")
	check(err)
}

func (w *wire) bareVerify() {
	public, err := secp256k1.ParsePubKey(w.barePublic)
	check(err)
	if !w.bareSignature.Verify(w.bareDigest[:], public) {
		panic("the bare signature does not verify")
	}
}

func (w *wire) bareSign() { ecdsa.SignCompact(w.bareKey, w.bareDigest[:], true) }
