package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestResolvedRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := func(c *Config) { c.YDB = "grpc://h:2136/local"; c.Database = "" }
	for name, test := range map[string]struct {
		change func(*Config)
		key    string
	}{
		"no port":               {func(c *Config) { c.Listen = "localhost" }, "listen"},
		"port too large":        {func(c *Config) { c.AdminListen = ":65536" }, "admin-listen"},
		"port by name":          {func(c *Config) { c.TopicListen = ":http" }, "topic-listen"},
		"advertise port 0":      {func(c *Config) { c.TopicAdvertise = "h:0" }, "topic-advertise"},
		"public URL":            {func(c *Config) { c.PublicURL = "sqs.example.com" }, "public-url"},
		"region":                {func(c *Config) { c.Region = "eu west" }, "region"},
		"account":               {func(c *Config) { c.Account = "1234" }, "account"},
		"absolute root":         {func(c *Config) { c.QueueRoot = "/a" }, "queue-root"},
		"root with dots":        {func(c *Config) { c.StateRoot = "a/../b" }, "state-root"},
		"no state root":         {func(c *Config) { c.StateRoot = "" }, "state-root"},
		"one root for both":     {func(c *Config) { c.QueueRoot = c.StateRoot }, "state-root"},
		"consumer":              {func(c *Config) { c.Consumer = "a/b" }, "consumer"},
		"database":              {func(c *Config) { c.Database = "local" }, "database"},
		"data dir":              {func(c *Config) { c.DataDir = "" }, "data-dir"},
		"negative retention":    {func(c *Config) { c.TopicRetention = -time.Hour }, "topic-retention"},
		"half a second":         {func(c *Config) { c.TopicRetention = time.Second / 2 }, "topic-retention"},
		"no time":               {func(c *Config) { c.RequestTimeout = 0 }, "request-timeout"},
		"no rate":               {func(c *Config) { c.FIFO.MessagesPerSecondPerPartition = 0 }, "fifo-messages-per-second-per-partition"},
		"small cache":           {func(c *Config) { c.BodyCacheBytes = 1 << 10 }, "body-cache-bytes"},
		"small answers":         {func(c *Config) { c.Receive.MaxAnswerBytes = 7 << 20 }, "receive-max-answer-bytes"},
		"huge answers":          {func(c *Config) { c.Receive.MaxAnswerBytes = 65 << 20 }, "receive-max-answer-bytes"},
		"oversize":              {func(c *Config) { c.Receive.Oversize = "keep" }, "receive-oversize"},
		"codec below 10000":     {func(c *Config) { c.Codecs = map[int32]string{7: "x"} }, "codecs"},
		"codec of the gateway":  {func(c *Config) { c.Codecs = map[int32]string{10077: "x"} }, "codecs"},
		"codec name taken":      {func(c *Config) { c.Codecs = map[int32]string{10001: "gzip"} }, "codecs"},
		"codec name twice":      {func(c *Config) { c.Codecs = map[int32]string{10001: "x", 10002: "x"} }, "codecs"},
		"codec name a number":   {func(c *Config) { c.Codecs = map[int32]string{10001: "10002"} }, "codecs"},
		"signatures":            {func(c *Config) { c.Auth.Mode = "sigv4" }, "auth-mode"},
		"unknown auth":          {func(c *Config) { c.Auth.Mode = "basic" }, "auth-mode"},
		"user without cluster":  {func(c *Config) { c.YDBUser = "u" }, "ydb-user"},
		"cluster scheme":        {func(c *Config) { c.YDB = "http://h:1/local" }, "ydb"},
		"cluster port":          {func(c *Config) { c.YDB = "grpc://h/local" }, "ydb"},
		"cluster database":      {func(c *Config) { c.YDB = "grpc://h:1/" }, "ydb"},
		"password in address":   {func(c *Config) { c.YDB = "grpc://u:secret@h:1/local" }, "ydb"},
		"other database":        {func(c *Config) { cluster(c); c.Database = "/other" }, "database"},
		"user without password": {func(c *Config) { cluster(c); c.YDBUser = "u" }, "ydb-user"},
		"password without user": {func(c *Config) { cluster(c); c.YDBPassword = "secret" }, "ydb-password"},
		"user and token":        {func(c *Config) { cluster(c); c.YDBUser, c.YDBPassword, c.YDBToken = "u", "secret", "secret" }, "ydb-token"},
		"CA without TLS":        {func(c *Config) { cluster(c); c.YDBCAFile = empty }, "ydb-ca-file"},
		"empty password file":   {func(c *Config) { cluster(c); c.YDBUser, c.YDBPasswordFile = "u", empty }, "ydb-password-file"},
	} {
		t.Run(name, func(t *testing.T) {
			c := defaults(t)
			test.change(&c)
			_, err := c.Resolved()
			var bad *Error
			if !errors.As(err, &bad) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if bad.Key != test.key {
				t.Errorf("the error names %s, want %s: %v", bad.Key, test.key, err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("a secret shows: %v", err)
			}
		})
	}
}

func TestResolvedOnACluster(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := defaults(t)
	c.Database, c.TopicRetention = "", 0
	c.YDB, c.YDBUser, c.YDBPasswordFile = "grpcs://h:2135/eu/prod", "u", password
	c, err := c.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	if c.Database != "/eu/prod" || c.TopicRetention != 24*time.Hour || c.YDBPassword != "secret" || c.Embedded() {
		t.Errorf("database %q, retention %v, embedded %v", c.Database, c.TopicRetention, c.Embedded())
	}
}

func TestResolvedTopicdLooksAtItsPartsAlone(t *testing.T) {
	c := Config{Topicd: Topicd{TopicListen: ":0", DataDir: "d"}}
	c, err := c.ResolvedTopicd()
	if err != nil || c.Database != "/local" {
		t.Errorf("database %q, error %v", c.Database, err)
	}
}
