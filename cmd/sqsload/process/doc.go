// Package process reads what a process uses, and starts and stops the server
// that a benchmark measures. Usage comes from /proc and getrusage; where there
// is no /proc it is reported as 0.
package process
