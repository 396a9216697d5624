// Package bench compares Parley with the Python library, with the bare
// primitives underneath and, for the language, with a compiler of protocol
// buffers, in one run on one machine, and prints ratios. Nothing here fails for
// being slow: the numbers are for people. `make bench` runs it.
package bench
