//go:build !race

package consumer_test

const (
	simProcessors   = 0 // as they are
	simSeedsDefault = 30
)
