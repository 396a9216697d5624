package run_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/run"
	"github.com/parley-agents/parley/store/sqlite"
)

// The crash test has two processes exchange money while one or the other is
// killed at random. Each payment leaves the ledger of the payer and enters that
// of the payee; each is confirmed. In the end no coin is lost and none is made.

type (
	Pay struct {
		Number int `json:"number"`
		Amount int `json:"amount"`
	}
	Paid struct {
		Number int `json:"number"`
	}
	ledger struct {
		Balance   int `json:"balance"`
		Sent      int `json:"sent"` // payments that left
		Received  int `json:"received"`
		Confirmed int `json:"confirmed"`
	}
)

const startBalance = 1_000_000

func loadLedger(ctx context.Context, t *parley.Turn) (ledger, error) {
	l, ok, err := parley.Load[ledger](ctx, t, "ledger")
	if !ok {
		l.Balance = startBalance
	}
	return l, err
}

// banker pays the peer until it has made so many payments, a few at a time.
// GET /ledger shows its ledger.
func banker(name string, peer identity.Address, payments func() int) *parley.Agent {
	a := parley.NewAgent(name, &parley.AgentOptions{Key: bankerKey(name)})
	parley.Handle(a, func(ctx context.Context, t *parley.Turn, in Pay) (Paid, error) {
		l, err := loadLedger(ctx, t)
		if err != nil {
			return Paid{}, err
		}
		l.Balance += in.Amount
		l.Received++
		return Paid{in.Number}, parley.Save(t, "ledger", l)
	})
	parley.On(a, func(ctx context.Context, t *parley.Turn, _ Paid) error {
		l, err := loadLedger(ctx, t)
		if err != nil {
			return err
		}
		l.Confirmed++
		return parley.Save(t, "ledger", l)
	})
	a.Every(5*time.Millisecond, func(ctx context.Context, t *parley.Turn) error {
		l, err := loadLedger(ctx, t)
		if err != nil || l.Sent >= payments() || l.Sent-l.Confirmed > 64 {
			return err
		}
		amount := 1 + l.Sent%7
		if err := t.Send(peer, Pay{Number: l.Sent, Amount: amount}); err != nil {
			return err
		}
		l.Sent++
		l.Balance -= amount
		return parley.Save(t, "ledger", l)
	})
	parley.HandleGet(a, "/ledger", loadLedger)
	return a
}

func bankerKey(name string) *identity.Key {
	k, err := identity.FromSeed("crash test "+name, 0)
	if err != nil {
		panic(err)
	}
	return k
}

// TestMain makes the test binary a bank when it is asked to be one.
func TestMain(m *testing.M) {
	if name := os.Getenv("PARLEY_TEST_BANK"); name != "" {
		bank(name)
		return
	}
	if os.Getenv("PARLEY_TEST_MAIN") != "" {
		stubborn()
		return
	}
	os.Exit(m.Run())
}

// bank runs until it is told to stop. A line on its standard input is by how many
// seconds its clock is wrong from now on; see TestClockSteps.
func bank(name string) {
	peerName := map[string]string{"north": "south", "south": "north"}[name]
	peer := bankerKey(peerName).Address()
	payments, _ := strconv.Atoi(os.Getenv("PARLEY_TEST_PAYMENTS"))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			_ = os.Setenv(clockEnv, lines.Text())
			fmt.Println(time.Now().Unix())
		}
	}()
	err := run.Run(ctx, &run.Options{
		Data: os.Getenv("PARLEY_TEST_DATA"), Listen: os.Getenv("PARLEY_TEST_LISTEN"),
		Resolve: map[identity.Address]string{peer: os.Getenv("PARLEY_TEST_PEER")},
		Started: func(string) { fmt.Println("started") },
	}, banker(name, peer, func() int { return payments }))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A process is one of the two banks.
type process struct {
	t            *testing.T
	binary       string // that it runs
	name, data   string
	listen, peer string
	payments     int
	cmd          *exec.Cmd
	stdin        io.Writer
	stdout       *bufio.Reader
}

// twoBanks makes, but does not start, banks that pay each other.
func twoBanks(t *testing.T, payments int) (north, south *process) {
	t.Helper()
	binary := bankBinary(t)
	north = &process{t: t, binary: binary, name: "north", data: t.TempDir(), listen: freeAddress(t), payments: payments}
	south = &process{t: t, binary: binary, name: "south", data: t.TempDir(), listen: freeAddress(t), payments: payments}
	north.peer, south.peer = south.listen, north.listen
	return north, south
}

func (p *process) start() {
	p.t.Helper()
	cmd := exec.Command(p.binary)
	cmd.Env = append(os.Environ(), "PARLEY_TEST_BANK="+p.name, "PARLEY_TEST_DATA="+p.data, "PARLEY_TEST_LISTEN="+p.listen,
		"PARLEY_TEST_PEER=http://"+p.peer+"/submit", "PARLEY_TEST_PAYMENTS="+strconv.Itoa(p.payments))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.cmd, p.stdout = cmd, bufio.NewReader(out)
	p.t.Cleanup(func() { _ = cmd.Process.Kill() }) // if the test ends early
	if line := p.line(); line != "started" {
		p.t.Fatalf("%s does not start: %q", p.name, line)
	}
}

func (p *process) line() string {
	line, _ := p.stdout.ReadString('\n')
	return strings.TrimSpace(line)
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // killed
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// read returns the ledger of a bank that does not run.
func (p *process) read() ledger {
	p.t.Helper()
	store, err := sqlite.Open(filepath.Join(p.data, "parley.db"), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer store.Close()
	text, ok, err := store.Get(p.t.Context(), bankerKey(p.name).Address(), "ledger")
	if err != nil {
		p.t.Fatal(err)
	}
	l := ledger{Balance: startBalance}
	if ok {
		if err := json.Unmarshal(text, &l); err != nil {
			p.t.Fatal(err)
		}
	}
	return l
}

// bankBinary is what banks run: this binary, or the same without the race
// detector, with which their work takes ten times as long. The soak has the
// detector look at the same code.
func bankBinary(t *testing.T) string {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	if !ok || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return os.Args[0]
	}
	binary := filepath.Join(t.TempDir(), "bank")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func TestU13CrashLosesNothingAndDoublesNothing(t *testing.T) {
	kills, seed := 20, uint64(20261115)
	if os.Getenv("PARLEY_LONG") != "" {
		kills = 200
	}
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d, %d kills", seed, kills)
	payments := 25 * kills
	north, south := twoBanks(t, payments)
	north.start()
	south.start()
	acquaint(north, south)
	for range kills {
		time.Sleep(time.Duration(20+random.IntN(180)) * time.Millisecond)
		victim := north
		if random.IntN(2) == 0 {
			victim = south
		}
		victim.kill()
		victim.start()
	}
	settle(north, south)
}

// acquaint waits until each of two running banks has heard from the other. Before
// that neither knows that the other drops repeats, so a payment whose connection
// broke would rightly not be sent again.
func acquaint(banks ...*process) {
	for _, p := range banks {
		p.t.Helper()
		for deadline := time.Now().Add(time.Minute); showLedger(p.t, p.listen).Confirmed == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.t.Fatalf("no payment of %s is confirmed", p.name)
			}
		}
	}
}

// settle waits until two running banks have made and confirmed all payments,
// ends them, and checks that no coin is lost and none is made.
func settle(north, south *process) {
	t, payments := north.t, north.payments
	t.Helper()
	done := func(p *process) bool {
		l := showLedger(t, p.listen)
		return l.Sent == payments && l.Confirmed == payments
	}
	for deadline := time.Now().Add(5 * time.Minute); !done(north) || !done(south); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("the payments do not come to an end")
			break
		}
	}
	north.kill()
	south.kill()
	n, s := north.read(), south.read()
	t.Logf("north %+v, south %+v", n, s)
	if n.Balance+s.Balance != 2*startBalance {
		t.Errorf("%d coins in the end, %d in the beginning", n.Balance+s.Balance, 2*startBalance)
	}
	if n.Received != payments || s.Received != payments {
		t.Errorf("received %d and %d payments, want %d each", n.Received, s.Received, payments)
	}
}

// showLedger asks a running bank for its ledger.
func showLedger(t *testing.T, address string) (l ledger) {
	t.Helper()
	response, err := http.Get("http://" + address + "/ledger")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the bank answers with status %d", response.StatusCode)
	}
	if err := json.NewDecoder(response.Body).Decode(&l); err != nil {
		t.Fatal(err)
	}
	return l
}
