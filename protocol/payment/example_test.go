package payment_test

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/payment"
	"github.com/parley-agents/parley/store/memory"
)

// A buyer pays what is cheap and refuses the rest. What else it answered would not
// compile.
type buyer struct{ done chan string }

func (b buyer) RequestPayment(_ context.Context, _ *parley.Turn, in payment.RequestPayment) (payment.RequestPaymentReply, error) {
	if in.AcceptedFunds[0].Amount == "1000000" {
		return payment.RejectPayment{Reason: new("too dear")}, nil
	}
	return payment.CommitPayment{Funds: in.AcceptedFunds[0], Recipient: in.Recipient, TransactionID: "tx-1"}, nil
}

func (b buyer) CompletePayment(_ context.Context, _ *parley.Turn, in payment.CompletePayment) error {
	b.done <- "completed " + *in.TransactionID
	return nil
}

func (b buyer) CancelPayment(context.Context, *parley.Turn, payment.CancelPayment) error {
	b.done <- "cancelled"
	return nil
}

type seller struct{}

func (seller) CommitPayment(_ context.Context, _ *parley.Turn, in payment.CommitPayment) (payment.CommitPaymentReply, error) {
	return payment.CompletePayment{TransactionID: &in.TransactionID}, nil
}

func (seller) RejectPayment(context.Context, *parley.Turn, payment.RejectPayment) error { return nil }

func request(amount string) payment.RequestPayment {
	funds := payment.NewFunds()
	funds.Amount, funds.Currency = amount, "FET"
	return payment.RequestPayment{AcceptedFunds: []payment.Funds{funds}, Recipient: "fetch1", DeadlineSeconds: 60}
}

// Both sides of the payment protocol, on generated code: one payment is refused,
// the other one goes all the way.
func Example() {
	shop, customer := parley.NewAgent("shop", nil), parley.NewAgent("customer", nil)
	done := make(chan string, 1)
	payment.IncludeSeller(shop, seller{}, nil)
	payment.IncludeBuyer(customer, buyer{done}, nil)
	shop.OnStart(func(_ context.Context, t *parley.Turn) error { return t.Send(customer.Address(), request("7")) })
	stop := host(shop, customer)
	defer stop()
	fmt.Println(<-done)

	client := payment.BuyerClient{From: shop, To: customer.Address()}
	answer, err := client.RequestPayment(context.Background(), request("1000000"))
	if refusal, ok := answer.(payment.RejectPayment); ok {
		fmt.Println("refused:", *refusal.Reason, err)
	}
	// Output:
	// completed tx-1
	// refused: too dear <nil>
}

// host runs agents until the returned function is called.
func host(agents ...*parley.Agent) (stop func()) {
	node, err := parley.NewNode(&parley.NodeOptions{Store: memory.New()})
	if err != nil {
		panic(err)
	}
	for _, a := range agents {
		key, err := identity.FromSeed(a.Name(), 0)
		if err != nil {
			panic(err)
		}
		a.SetKey(key)
	}
	if err := node.Add(agents...); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	for !node.Ready() {
		time.Sleep(time.Millisecond)
	}
	return func() {
		cancel()
		if err := <-ended; err != nil {
			panic(err)
		}
	}
}
