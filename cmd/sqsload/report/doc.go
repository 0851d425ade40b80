// Package report is what a load test found, as data for JSON and as text for
// people, together with the machine it ran on: a figure without its load and
// machine says nothing.
package report
