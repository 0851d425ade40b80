package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":    `expected one of "run", "scale", "bench"`,
		"run": "missing flags: --endpoint=STRING",
		"run --endpoint=http://127.0.0.1:1 --scenario=hammer": "--scenario must be one of",
		"run --endpoint=http://127.0.0.1:1 --body=x":          `"x" is no size`,
		"bench": "missing flags: --server=STRING",
	} {
		var out, complaint bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), &out, &complaint); status != exitUsage {
			t.Errorf("%q: status %d", args, status)
		}
		if !strings.Contains(complaint.String(), want) || out.Len() > 0 {
			t.Errorf("%q: %q, want %q", args, complaint.String(), want)
		}
	}
}

func TestRefusesOtherMachines(t *testing.T) {
	var out, complaint bytes.Buffer
	status := run(t.Context(), []string{"run", "--endpoint=http://192.0.2.1:9324"}, &out, &complaint)
	if status != exitError || !strings.Contains(complaint.String(), "--allow-remote") {
		t.Errorf("status %d, %q", status, complaint.String())
	}
}

func TestBadLoads(t *testing.T) {
	for args, want := range map[string]string{
		"--body=10":                       "want 80 to",
		"--body=1M --scenario=send-batch": "ten in a batch",
		"--connections=5000":              "want 1 to 4096",
		"--groups=5":                      "only a FIFO queue",
		"--visibility=1ms":                "whole seconds",
		"--rate=-1":                       "negative",
		"--sign":                          "AWS_ACCESS_KEY_ID",
	} {
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		var out, complaint bytes.Buffer
		status := run(t.Context(), append([]string{"run", "--endpoint=http://127.0.0.1:1"}, strings.Fields(args)...), &out, &complaint)
		if status == exitOK || !strings.Contains(complaint.String(), want) {
			t.Errorf("%q: status %d, %q", args, status, complaint.String())
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]size{"0": 0, "1024": 1024, "1KiB": 1024, "256k": 256 << 10, "1M": 1 << 20, "1mib": 1 << 20, "10B": 10} {
		var got size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "x", "-1", "1.5k", "1G", "9999999999999999999", "4000M"} {
		var got size
		if err := got.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is %d", bad, got)
		}
	}
}
