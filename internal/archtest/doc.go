// Package archtest holds the shape of the code as tests: which package may
// import which, a doc.go in every package, no oversized file. It reads the
// sources only and has no code of its own to be used.
package archtest
