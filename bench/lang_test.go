package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"

	"github.com/parley-agents/parley/internal/lang/project"
	"github.com/parley-agents/parley/internal/lang/syntax"
)

const (
	treeProtocols = 1000
	treeRounds    = 7
	treeAim       = 1.5 // of the time of protocompile
)

// BenchmarkLanguage checks and formats a tree of protocols, and has protocompile
// compile the same content written as .proto files, turn by turn.
func BenchmarkLanguage(b *testing.B) {
	ours, theirs := b.TempDir(), b.TempDir()
	lines, protos := writeTree(ours, theirs)
	var checks, formats, compiles []time.Duration
	for range treeRounds {
		checks = append(checks, timed(func() { checkTree(ours) }))
		formats = append(formats, timed(func() { formatTree(ours) }))
		compiles = append(compiles, timed(func() { compileTree(theirs, protos) }))
	}
	check, format, compile := middle(checks), middle(formats), middle(compiles)
	fmt.Printf("\nA tree of %d protocols, %d lines (as .proto %d), %d processors; medians of %d\n", treeProtocols, lines[0], lines[1], runtime.GOMAXPROCS(0), treeRounds)
	fmt.Printf("%-38s %12s %8s\n", "", "time", "ratio")
	for _, row := range []struct {
		name string
		took time.Duration
	}{{"protocompile", compile}, {"parley check", check}, {"parley fmt", format}, {"parley check and fmt", check + format}} {
		fmt.Printf("%-38s %9.0f ms %7.2fx\n", row.name, float64(row.took.Microseconds())/1e3, float64(row.took)/float64(compile))
	}
	fmt.Printf("aim: check and fmt in at most %.1fx\n", treeAim)
	for range b.N { // the framework wants a loop
	}
}

func timed(f func()) time.Duration {
	runtime.GC() // what others left behind is not on this bill
	began := time.Now()
	f()
	return time.Since(began)
}

func middle(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

func checkTree(folder string) {
	sources, err := project.Find([]string{folder}, nil)
	check(err)
	result, err := project.Check(sources, project.Options{})
	check(err)
	if len(result.Diagnostics) > 0 || len(result.Protocols) != treeProtocols {
		panic(fmt.Sprintf("%d protocols\n%s", len(result.Protocols), result.Diagnostics))
	}
}

func formatTree(folder string) {
	sources, err := project.Find([]string{folder}, nil)
	check(err)
	for _, s := range sources {
		file, found := syntax.Parse(s.Name, s.Text)
		if formatted := syntax.Format(file); len(found) > 0 || string(formatted) != string(s.Text) {
			panic(fmt.Sprintf("%s is laid out otherwise: %s\n%s", s.Name, found, formatted))
		}
	}
}

func compileTree(folder string, names []string) {
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{folder}}}
	files, err := compiler.Compile(context.Background(), names...)
	check(err)
	if len(files) != len(names) {
		panic(fmt.Sprintf("%d files of %d", len(files), len(names)))
	}
}

// writeTree writes the protocols in both languages and returns how many lines
// they have and the names of the .proto files.
func writeTree(ours, theirs string) (lines [2]int, protos []string) {
	write := func(folder, name, text string, n *int) {
		*n += strings.Count(text, "\n")
		check(os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		check(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	write(ours, "common.parley", commonSource, &lines[0])
	write(theirs, "common.proto", commonProto, &lines[1])
	for i := range treeProtocols {
		number, folder := fmt.Sprintf("%03d", i), fmt.Sprintf("shops%d/", i%10)
		write(ours, folder+"shop"+number+".parley", strings.ReplaceAll(treeSource, "NNN", number), &lines[0])
		proto := folder + "shop" + number + ".proto"
		write(theirs, proto, strings.ReplaceAll(treeProto, "NNN", number), &lines[1])
		protos = append(protos, proto)
	}
	return lines, protos
}

const commonSource = `parley "1"
package acme.common version "1.0.0"

/// Who somebody is.
type Party = {
  id: String(minLength: 1)
  name: String?
}

/// An amount of money, in the smallest unit.
type Money = {
  amount: Int(min: 0)
  currency: String = "EUR"
}
`

const commonProto = `syntax = "proto3";
package acme.common;

// Who somebody is.
message Party {
  string id = 1;
  optional string name = 2;
}

// An amount of money, in the smallest unit.
message Money {
  int64 amount = 1;
  string currency = 2;
}
`

const treeSource = `parley "1"
package acme.shopNNN version "1.0.0"
import "../common.parley"

/// How something is sent.
enum Shipping {
  LETTER,
  PARCEL,
  PALLET, // by lorry
  PICKUP
}

/// Something that can be bought.
type Item = {
  id: String
  title: String
  words: List<String>
  weight: Float?
  price: Money
  shipping: Shipping
  stock: Int
}

type Card = {
  kind: "card"
  number: String
  expires: Date
}

type Transfer = {
  kind: "transfer"
  account: String
  reference: String?
}

type Cash = { kind: "cash" }
type Payment = Card | Transfer | Cash

/// Where something is sent.
type Address = {
  party: Party
  street: String
  city: String
  code: String
  country: String
  notes: List<String>
}

/// A buyer asks for an offer, orders and pays; the seller delivers.
protocol ShopNNN version "1.0.0" {
  roles buyer, seller
  message search: query {
    text: String
    limit: Int
    labels: Map<String, String>
  }
  message found: inform {
    items: List<Item>
    total: Int
  }
  message order: request {
    item: String
    count: Int
    address: Address
    payment: Payment
  }
  message accepted: response {
    order: String
    due: DateTime
    price: Money
  }
  message refused: error {
    reason: String
    code: Int
  }
  message cancel: request {
    order: String
    reason: String?
  }
  message cancelled: response { order: String }
  dialogue {
    initiates [search, order] by buyer
    search -> [found, refused] within 10s else lost
    found -> [order]?
    order -> [accepted, refused] within 30s else lost
    accepted -> [cancel]?
    cancel -> [cancelled, refused] within 30s else lost
    cancelled -> []
    refused -> []
    terminates [found, accepted, cancelled, refused]
    end_states [done, failed, lost]
    outcome failed: refused
    outcome done: accepted, cancelled, found
  }
}
`

// treeProto says the same as far as it can be said: fields, variants, who may
// answer what.
const treeProto = `syntax = "proto3";
package acme.shopNNN;
import "common.proto";

// How something is sent.
enum Shipping {
  LETTER = 0;
  PARCEL = 1;
  PALLET = 2; // by lorry
  PICKUP = 3;
}

// Something that can be bought.
message Item {
  string id = 1;
  string title = 2;
  repeated string words = 3;
  optional double weight = 4;
  acme.common.Money price = 5;
  Shipping shipping = 6;
  int64 stock = 7;
}

message Card {
  string number = 1;
  string expires = 2;
}

message Transfer {
  string account = 1;
  optional string reference = 2;
}

message Cash {}

message Payment {
  oneof kind {
    Card card = 1;
    Transfer transfer = 2;
    Cash cash = 3;
  }
}

// Where something is sent.
message Address {
  acme.common.Party party = 1;
  string street = 2;
  string city = 3;
  string code = 4;
  string country = 5;
  repeated string notes = 6;
}

message Search {
  string text = 1;
  int64 limit = 2;
  map<string, string> labels = 3;
}

message Found {
  repeated Item items = 1;
  int64 total = 2;
}

message Order {
  string item = 1;
  int64 count = 2;
  Address address = 3;
  Payment payment = 4;
}

message Accepted {
  string order = 1;
  string due = 2;
  acme.common.Money price = 3;
}

message Refused {
  string reason = 1;
  int64 code = 2;
}

message Cancel {
  string order = 1;
  optional string reason = 2;
}

message Cancelled { string order = 1; }

message SearchReply {
  oneof reply {
    Found found = 1;
    Refused refused = 2;
  }
}

message OrderReply {
  oneof reply {
    Accepted accepted = 1;
    Refused refused = 2;
  }
}

message CancelReply {
  oneof reply {
    Cancelled cancelled = 1;
    Refused refused = 2;
  }
}

// A buyer asks for an offer, orders and pays; the seller delivers.
service ShopNNN {
  rpc Search(acme.shopNNN.Search) returns (SearchReply);
  rpc Order(acme.shopNNN.Order) returns (OrderReply);
  rpc Cancel(acme.shopNNN.Cancel) returns (CancelReply);
}
`
