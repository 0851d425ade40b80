// Package topicid tells a topic from another one that is made later at the same
// path.
package topicid
