package identity

import (
	"encoding/binary"
	"unsafe"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// Verifying means to find u1·G + u2·Q for the base point G and the sender's key
// Q. The multiple of G is cheap, its tables come with the curve. Most of the time
// goes into doubling Q, over and over; a table of Q's multiples has that done
// once. Everything here is public, so nothing needs constant time.
//
// Measured against other widths: 4 bits need a fifth more additions for two
// thirds of the memory, 6 bits a fifth fewer for twice the memory. A wider table
// for G gains a tenth, and would cost a megabyte and a pause to make it.
const (
	window  = 5              // bits of the scalar that one addition covers
	windows = 256/window + 1 // the last one also takes the carry of the others
	digits  = 1 << (window - 1)
)

// A point is a point of the curve other than infinity, in affine coordinates.
type point struct{ x, y secp256k1.FieldVal }

// A table holds the multiples of one key: for each window of a scalar and each
// digit 1 to 16 the point that this digit stands for there. Digits are signed,
// -15 to 16, so half the points do: -P is P with the other y.
type table struct {
	key    *secp256k1.PublicKey
	points [windows][digits]point
}

// tableBytes is what a table takes: large values get whole pages of 8 KiB.
const tableBytes = int(unsafe.Sizeof(table{})+8191) &^ 8191

func newTable(key *secp256k1.PublicKey) *table {
	multiples := make([]secp256k1.JacobianPoint, 0, windows*digits)
	var base, multiple secp256k1.JacobianPoint
	key.AsJacobian(&base)
	for range windows {
		multiple = base
		for range digits {
			multiples = append(multiples, multiple)
			secp256k1.AddNonConst(&multiple, &base, &multiple)
		}
		last := &multiples[len(multiples)-1] // half the base of the next window
		secp256k1.DoubleNonConst(last, &base)
	}
	t := &table{key: key}
	t.fill(multiples)
	return t
}

// fill divides out all z with one inversion: from the inverse of their product,
// the inverse of each follows by multiplying with the others. No z is zero: the
// order of the group is a prime larger than any factor that is used here.
func (t *table) fill(multiples []secp256k1.JacobianPoint) {
	before := make([]secp256k1.FieldVal, len(multiples)) // product of all z before
	var inverse secp256k1.FieldVal
	inverse.SetInt(1)
	for i := range multiples {
		before[i] = inverse
		inverse.Mul(&multiples[i].Z)
	}
	inverse.Inverse()
	for i := len(multiples) - 1; i >= 0; i-- {
		m := &multiples[i]
		var z1, z2 secp256k1.FieldVal // inverses of z and of its square
		z1.Mul2(&inverse, &before[i])
		inverse.Mul(&m.Z)
		z2.SquareVal(&z1)
		p := &t.points[i/digits][i%digits]
		p.x.Mul2(&m.X, &z2).Normalize()
		p.y.Mul2(&m.Y, &z2).Mul(&z1).Normalize()
	}
}

// holds verifies a claim about the table's key.
func (t *table) holds(c *claim) bool {
	var w, u1, u2 secp256k1.ModNScalar
	w.InverseValNonConst(&c.s)
	u1.Mul2(&c.e, &w)
	u2.Mul2(&c.r, &w)
	if u1.IsZero() {
		return c.holds() // infinity is no start for addPoint
	}
	var sum secp256k1.JacobianPoint
	secp256k1.ScalarBaseMultNonConst(&u1, &sum)
	t.addMultiple(&sum, &u2)
	if sum.Z.Normalize().IsZero() {
		return c.holds() // addPoint met what it cannot add
	}
	return hasX(&sum, &c.r)
}

// addMultiple adds k times the table's key to sum.
func (t *table) addMultiple(sum *secp256k1.JacobianPoint, k *secp256k1.ModNScalar) {
	bytes := k.Bytes()
	var limbs [5]uint64 // least first; the last one stays zero
	for i := range 4 {
		limbs[i] = binary.BigEndian.Uint64(bytes[24-8*i:])
	}
	carry := 0
	for i := range windows {
		limb, shift := i*window/64, i*window%64
		bits := limbs[limb]>>shift | limbs[limb+1]<<(64-shift)
		digit := int(bits&(1<<window-1)) + carry
		carry = 0
		if digit > digits {
			digit -= 1 << window
			carry = 1
		}
		switch {
		case digit > 0:
			p := &t.points[i][digit-1]
			addPoint(sum, &p.x, &p.y)
		case digit < 0:
			p := &t.points[i][-digit-1]
			var y secp256k1.FieldVal
			addPoint(sum, &p.x, y.NegateVal(&p.y, 1))
		}
	}
}

// addPoint adds the affine point x, y by a mixed addition of 8 multiplications
// and 3 squarings. The formula is wrong where sum is infinity, that point or its
// opposite, and it is not worth looking for that each time: z gets the
// difference of both x as a factor, so it is zero from then on, and who reads
// the sum can tell that it means nothing.
//
// The numbers behind the lines are magnitudes, of which a multiplication takes
// at most 8: sum comes and goes with at most 5, 3 and 1, x with 1 and y with 2.
func addPoint(sum *secp256k1.JacobianPoint, x, y *secp256k1.FieldVal) {
	var zz, h, hh, hhh, v, r, t secp256k1.FieldVal
	zz.SquareVal(&sum.Z)
	t.Mul2(x, &zz)
	h.NegateVal(&sum.X, 5).Add(&t) // h = x·Z² - X (7)
	t.Mul2(y, &zz).Mul(&sum.Z)
	r.NegateVal(&sum.Y, 3).Add(&t) // r = y·Z³ - Y (5)
	hh.SquareVal(&h)
	hhh.Mul2(&hh, &h)
	v.Mul2(&sum.X, &hh)
	sum.Z.Mul(&h)                           // Z' = Z·h (1)
	t.Set(&v).MulInt(2).Add(&hhh).Negate(3) // (4)
	sum.X.SquareVal(&r).Add(&t)             // X' = r² - h³ - 2v (5)
	t.NegateVal(&sum.X, 5).Add(&v)          // (7)
	hhh.Mul(&sum.Y).Negate(1)               // (2)
	sum.Y.Mul2(&t, &r).Add(&hhh)            // Y' = r·(v - X') - Y·h³ (3)
}

// hasX reports whether the affine x of sum is r modulo the order n, which means
// r or r+n, without the inversion that a division by z² would take.
func hasX(sum *secp256k1.JacobianPoint, r *secp256k1.ModNScalar) bool {
	bytes := r.Bytes()
	var want, zz, product secp256k1.FieldVal
	want.SetBytes(&bytes)
	zz.SquareVal(&sum.Z)
	sum.X.Normalize()
	if product.Mul2(&want, &zz).Normalize().Equals(&sum.X) {
		return true
	}
	if want.IsGtOrEqPrimeMinusOrder() {
		return false // r+n is no element of the field
	}
	want.Add(&groupOrder)
	return product.Mul2(&want, &zz).Normalize().Equals(&sum.X)
}

// groupOrder is n as an element of the field.
var groupOrder = func() (n secp256k1.FieldVal) {
	n.SetByteSlice(secp256k1.Params().N.Bytes())
	return n
}()
