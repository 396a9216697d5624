package identity_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// A crafted message verifies, if at all, with exactly the multiples of the base
// point and of the key that the test asked for.
type crafted struct {
	address   identity.Address
	digest    []byte
	signature string
	possible  bool // false if the sum is infinity, so that no signature is right
}

// craft works backwards: from u1·G + u2·key = R follow r, s = r/u2 and the
// digest u1·s. A real signer cannot choose u1 and u2, an attacker can.
func craft(key *secp256k1.PublicKey, u1, u2 *big.Int) crafted {
	var q, base, multiple, sum secp256k1.JacobianPoint
	key.AsJacobian(&q)
	a, b := scalar(u1), scalar(u2)
	secp256k1.ScalarBaseMultNonConst(a, &base)
	secp256k1.ScalarMultNonConst(b, &q, &multiple)
	secp256k1.AddNonConst(&base, &multiple, &sum)
	possible := !(sum.X.IsZero() && sum.Y.IsZero()) && !sum.Z.IsZero()
	r := new(secp256k1.ModNScalar).SetInt(1)
	if possible {
		sum.ToAffine()
		r.SetBytes(sum.X.Bytes())
	}
	var s, e secp256k1.ModNScalar
	s.InverseValNonConst(b).Mul(r)
	e.Mul2(a, &s)
	raw, digest := append(bytesOf(r), bytesOf(&s)...), bytesOf(&e)
	return crafted{
		address:   identity.Address(identity.EncodeBech32("agent", key.SerializeCompressed())),
		digest:    digest,
		signature: identity.EncodeBech32("sig", raw),
		possible:  possible,
	}
}

// check verifies both ways what was crafted, and the same with another digest.
func (c crafted) check(t *testing.T) {
	t.Helper()
	if err := verifyBothWays(t, c.address, c.digest, c.signature); (err == nil) != c.possible {
		t.Errorf("%v, want ok = %v for\n%s %x %s", err, c.possible, c.address, c.digest, c.signature)
	}
	c.digest[31] ^= 1
	if err := verifyBothWays(t, c.address, c.digest, c.signature); fault.CodeOf(err) != fault.Unverified {
		t.Errorf("another digest: %v, want unverified", err)
	}
}

// edges are scalars at the borders of windows, digits, limbs and the group.
func edges() []*big.Int {
	n := order()
	all := []*big.Int{big.NewInt(1), big.NewInt(2), sub(n, 1), sub(n, 2), new(big.Int).Rsh(n, 1)}
	for _, d := range []int64{15, 16, 17, 31} { // the same digit in all windows
		repeated := new(big.Int)
		for range 51 {
			repeated.Lsh(repeated, 5).Add(repeated, big.NewInt(d))
		}
		all = append(all, repeated)
	}
	for _, bit := range []uint{4, 5, 63, 64, 128, 192, 254, 255} {
		power := new(big.Int).Lsh(big.NewInt(1), bit)
		all = append(all, power, sub(power, 1))
	}
	return all
}

func TestTableAtTheEdges(t *testing.T) {
	for i, u2 := range edges() {
		key := publicKey(edges()[(i+3)%len(edges())])
		for _, u1 := range append(edges()[:5], big.NewInt(0)) {
			craft(key, u1, u2).check(t)
		}
	}
}

func TestTableAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		craft(publicKey(randomScalar(random)), randomScalar(random), randomScalar(random)).check(t)
	}
}

// In each window in turn the sum so far is the point that is added next, so that
// it has to be doubled, or its opposite, so that it becomes infinity.
func TestTableMeetsEqualAndOppositePoints(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	key, u2 := randomScalar(random), randomScalar(random)
	below := new(big.Int) // what the windows so far have added
	for i, digit := range signedDigits(u2) {
		next := new(big.Int).Mul(big.NewInt(digit), new(big.Int).Lsh(big.NewInt(1), uint(5*i)))
		equal, opposite := new(big.Int).Sub(next, below), new(big.Int).Add(next, below)
		for name, u1 := range map[string]*big.Int{"equal": equal, "opposite": opposite.Neg(opposite)} {
			t.Run(fmt.Sprintf("window %d %s", i, name), func(t *testing.T) {
				craft(publicKey(key), times(u1, key), u2).check(t)
			})
		}
		below.Add(below, next)
	}
}

// The sum of both multiples is infinity: there is no x to compare with r.
func TestTableRefusesInfinity(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	key, u2 := randomScalar(random), randomScalar(random)
	c := craft(publicKey(key), times(new(big.Int).Neg(u2), key), u2)
	if c.possible {
		t.Fatal("the test does not reach infinity")
	}
	c.check(t)
}

// Of a point whose x is not below n, the signature has x-n. To have one, the
// point is chosen first and the key follows from it.
func TestTableAcceptsXOverTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	found := 0
	for i := int64(0); found < 3; i++ {
		var x, y secp256k1.FieldVal
		x.SetByteSlice(new(big.Int).Add(order(), big.NewInt(i)).Bytes())
		if !secp256k1.DecompressY(&x, false, &y) {
			continue
		}
		found++
		u1, u2 := randomScalar(random), randomScalar(random)
		var z secp256k1.FieldVal
		sum := secp256k1.MakeJacobianPoint(&x, &y, z.SetInt(1))
		var base, rest, key secp256k1.JacobianPoint
		secp256k1.ScalarBaseMultNonConst(scalar(new(big.Int).Neg(u1)), &base)
		secp256k1.AddNonConst(&sum, &base, &rest)
		secp256k1.ScalarMultNonConst(scalar(u2).InverseNonConst(), &rest, &key)
		key.ToAffine()

		c := craft(secp256k1.NewPublicKey(&key.X, &key.Y), u1, u2)

		if r, err := identity.SignatureR(c.signature); err != nil || new(big.Int).SetBytes(r[:]).Int64() != i {
			t.Fatalf("r = %x, %v, want %d", r, err, i)
		}
		if i == 0 {
			c.possible = false // r is zero, which is out of range
		}
		c.check(t)
	}
}

// signedDigits splits a scalar as a table does: digits -15 to 16 of base 32.
func signedDigits(k *big.Int) []int64 {
	var digits []int64
	for rest := new(big.Int).Set(k); rest.Sign() > 0; {
		digit := new(big.Int).And(rest, big.NewInt(31)).Int64()
		if digit > 16 {
			digit -= 32
		}
		digits = append(digits, digit)
		rest.Sub(rest, big.NewInt(digit)).Rsh(rest, 5)
	}
	return digits
}

func order() *big.Int { return new(big.Int).Set(secp256k1.Params().N) }

func sub(a *big.Int, b int64) *big.Int { return new(big.Int).Sub(a, big.NewInt(b)) }

func times(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

func scalar(k *big.Int) *secp256k1.ModNScalar {
	s := new(secp256k1.ModNScalar)
	s.SetByteSlice(new(big.Int).Mod(k, order()).Bytes())
	return s
}

func bytesOf(s *secp256k1.ModNScalar) []byte {
	bytes := s.Bytes()
	return bytes[:]
}

func publicKey(secret *big.Int) *secp256k1.PublicKey {
	return secp256k1.NewPrivateKey(scalar(secret)).PubKey()
}

// randomScalar returns a number within 1 to n-1, often with long runs of zeros
// and ones, where carries go far.
func randomScalar(random *rand.Rand) *big.Int {
	k := new(big.Int)
	for range 4 {
		limb := []uint64{random.Uint64(), 0, 1<<64 - 1, random.Uint64() & random.Uint64()}[random.IntN(4)]
		k.Lsh(k, 64).Or(k, new(big.Int).SetUint64(limb))
	}
	return k.Mod(k, sub(order(), 1)).Add(k, big.NewInt(1))
}
