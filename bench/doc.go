// Package bench compares Parley with the Python library and with the bare
// primitives underneath, in one run on one machine, and prints ratios. Nothing
// here fails for being slow: the numbers are for people. `make bench` runs it.
package bench
