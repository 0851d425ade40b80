package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Error is a setting that cannot work. The process ends with exit status 2.
type Error struct {
	Key   string // name of the flag, without dashes in front; of what only the file has, its path
	Value string // "" for secrets and when there is none
	Err   error
}

func (e *Error) Error() string {
	name := e.Key
	if !strings.Contains(name, ".") {
		name = "--" + name
	}
	if e.Value == "" {
		return fmt.Sprintf("%s: %v", name, e.Err)
	}
	return fmt.Sprintf("%s %q: %v", name, e.Value, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

func invalid(key, value, format string, args ...any) error {
	return &Error{Key: key, Value: value, Err: fmt.Errorf(format, args...)}
}

// Defaults that depend on other settings.
const (
	defaultDatabase          = "/local"
	defaultClusterRetention  = 24 * time.Hour
	defaultEmbeddedRetention = time.Hour
)

// envelopeCodec is the codec number the gateway keeps for itself.
const envelopeCodec = 10077

// Resolved returns the configuration of `serve` with every open default filled
// in and the files and variables that hold secrets read, or an *Error.
func (c Config) Resolved() (_ Config, err error) {
	if err := c.Gateway.validate(); err != nil {
		return c, err
	}
	if c.Embedded() {
		if c.Database == "" {
			c.Database = defaultDatabase
		}
		if c.TopicRetention == 0 {
			c.TopicRetention = defaultEmbeddedRetention
		}
	} else {
		database, err := clusterDatabase(c.YDB)
		if err != nil {
			return c, &Error{Key: "ydb", Value: withoutPassword(c.YDB), Err: err}
		}
		if c.Database != "" && c.Database != database {
			return c, invalid("database", c.Database, "is not the database of --ydb, %s", database)
		}
		c.Database = database
		if c.TopicRetention == 0 {
			c.TopicRetention = defaultClusterRetention
		}
	}
	if c.YDBPasswordFile != "" {
		raw, err := os.ReadFile(c.YDBPasswordFile)
		if err != nil {
			return c, &Error{Key: "ydb-password-file", Value: c.YDBPasswordFile, Err: err}
		}
		c.YDBPassword = Secret(strings.TrimRight(string(raw), "\r\n"))
		if c.YDBPassword == "" {
			return c, invalid("ydb-password-file", c.YDBPasswordFile, "the file is empty")
		}
	}
	if c.Auth, err = c.Auth.resolved(); err != nil {
		return c, err
	}
	return c, c.Topicd.validate()
}

// ResolvedTopicd is Resolved for `topicd`: it looks at Process and Topicd alone.
func (c Config) ResolvedTopicd() (Config, error) {
	if c.Database == "" {
		c.Database = defaultDatabase
	}
	if c.Topics.WriteQuota == "" {
		c.Topics.WriteQuota = WriteQuotaEnforce
	}
	return c, c.Topicd.validate()
}

func (t Topicd) validate() error {
	if err := listenAddress("topic-listen", t.TopicListen); err != nil {
		return err
	}
	if t.TopicAdvertise != "" {
		host, port, err := net.SplitHostPort(t.TopicAdvertise)
		if err != nil || host == "" || !portNumber(port) || port == "0" {
			return invalid("topic-advertise", t.TopicAdvertise, "want host:port")
		}
	}
	if t.DataDir == "" {
		return invalid("data-dir", "", "must not be empty")
	}
	if !strings.HasPrefix(t.Database, "/") || path.Clean(t.Database) != t.Database || t.Database == "/" {
		return invalid("database", t.Database, "want an absolute path such as /local")
	}
	if t.TLSCert == "" && t.TLSKey != "" {
		return invalid("tls-key", t.TLSKey, "needs --tls-cert")
	}
	if t.TLSKey == "" && t.TLSCert != "" {
		return invalid("tls-cert", t.TLSCert, "needs --tls-key")
	}
	return t.Topics.validate()
}

func (t Topics) validate() error {
	switch t.WriteQuota {
	case "", WriteQuotaOff, WriteQuotaEnforce:
	default:
		return invalid("topicd-write-quota", t.WriteQuota, "want off or enforce")
	}
	if t.User == "" && t.Password != "" {
		return invalid("topicd-password", "", "needs --topicd-user")
	}
	if t.User != "" && t.Password == "" {
		return invalid("topicd-user", t.User, "needs --topicd-password")
	}
	return nil
}

var (
	errPassword = errors.New("user and password belong into --ydb-user and --ydb-password-file, not into the address")
	errAddress  = errors.New("want grpc[s]://host:port/database")
)

// clusterDatabase checks the address of a cluster and returns its database.
func clusterDatabase(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "grpc" && u.Scheme != "grpcs") {
		return "", errAddress
	}
	if u.User != nil {
		return "", errPassword
	}
	database := strings.TrimRight(u.Path, "/")
	if u.Hostname() == "" || u.Port() == "" || database == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errAddress
	}
	return database, nil
}

// withoutPassword makes an address fit to be shown.
func withoutPassword(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		return scheme + "://" + mask + rest[i:]
	}
	return address
}

func (g Gateway) validate() error {
	if err := listenAddress("listen", g.Listen); err != nil {
		return err
	}
	if err := listenAddress("admin-listen", g.AdminListen); err != nil {
		return err
	}
	if g.PublicURL != "" {
		u, err := url.Parse(g.PublicURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return invalid("public-url", g.PublicURL, "want http[s]://host[:port][/path]")
		}
	}
	if !matches(`^[a-z0-9-]{1,64}$`, g.Region) {
		return invalid("region", g.Region, "want the name of a region such as us-east-1")
	}
	if !matches(`^[0-9]{12}$`, g.Account) {
		return invalid("account", g.Account, "want 12 digits")
	}
	if g.QueueRoot != "" && !relativePath(g.QueueRoot) {
		return invalid("queue-root", g.QueueRoot, "want a relative path of letters, digits and ._-")
	}
	if !relativePath(g.StateRoot) {
		return invalid("state-root", g.StateRoot, "want a relative path of letters, digits and ._-")
	}
	if g.StateRoot == g.QueueRoot {
		return invalid("state-root", g.StateRoot, "is the same as --queue-root")
	}
	if !matches(`^[A-Za-z0-9._-]{1,128}$`, g.Consumer) {
		return invalid("consumer", g.Consumer, "want letters, digits and ._-")
	}
	for _, check := range []func() error{g.credentials, g.amounts, g.codecNames, g.Auth.validate} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// credentials checks what belongs to --ydb.
func (g Gateway) credentials() error {
	given := ""
	for _, c := range []struct{ key, value string }{
		{"ydb-user", g.YDBUser},
		{"ydb-password", string(g.YDBPassword)},
		{"ydb-password-file", g.YDBPasswordFile},
		{"ydb-token", string(g.YDBToken)},
		{"ydb-token-file", g.YDBTokenFile},
		{"ydb-ca-file", g.YDBCAFile},
	} {
		if c.value != "" {
			given = c.key
			break
		}
	}
	if g.Embedded() {
		if given != "" {
			return invalid(given, "", "needs --ydb")
		}
		return nil
	}
	hasPassword := g.YDBPassword != "" || g.YDBPasswordFile != ""
	hasToken := g.YDBToken != "" || g.YDBTokenFile != ""
	switch {
	case g.YDBPassword != "" && g.YDBPasswordFile != "":
		return invalid("ydb-password", "", "give either the password or --ydb-password-file")
	case g.YDBToken != "" && g.YDBTokenFile != "":
		return invalid("ydb-token", "", "give either the token or --ydb-token-file")
	case hasPassword && g.YDBUser == "":
		return invalid("ydb-password", "", "needs --ydb-user")
	case g.YDBUser != "" && !hasPassword:
		return invalid("ydb-user", g.YDBUser, "needs a password: --ydb-password-file")
	case g.YDBUser != "" && hasToken:
		return invalid("ydb-token", "", "cannot go with --ydb-user")
	case g.YDBCAFile != "" && !strings.HasPrefix(g.YDB, "grpcs://"):
		return invalid("ydb-ca-file", g.YDBCAFile, "needs a grpcs:// address in --ydb")
	}
	return nil
}

func (g Gateway) amounts() error {
	for _, d := range []struct {
		key        string
		value, min time.Duration
	}{
		{"topic-retention", g.TopicRetention, 0},
		{"request-timeout", g.RequestTimeout, 100 * time.Millisecond},
		{"refresh-interval", g.RefreshInterval, 100 * time.Millisecond},
		{"fifo-throttle-wait", g.FIFO.ThrottleWait, 0},
	} {
		if d.value < d.min {
			return invalid(d.key, d.value.String(), "want at least %s", d.min)
		}
	}
	if g.TopicRetention%time.Second != 0 {
		return invalid("topic-retention", g.TopicRetention.String(), "want whole seconds")
	}
	if n := g.FIFO.MessagesPerSecondPerPartition; n < 1 {
		return invalid("fifo-messages-per-second-per-partition", strconv.Itoa(n), "want at least 1")
	}
	// The least holds every message of SendMessage, whatever has to be escaped in it.
	if n := g.Receive.MaxAnswerBytes; n < 8<<20 || n > 64<<20 {
		return invalid("receive-max-answer-bytes", n.String(), "want 8MiB to 64MiB")
	}
	if o := g.Receive.Oversize; o != OversizeDeadLetter && o != OversizeSkip {
		return invalid("receive-oversize", o, "want dead_letter or skip")
	}
	if g.BodyCacheBytes < 1<<20 {
		return invalid("body-cache-bytes", g.BodyCacheBytes.String(), "want at least 1MiB")
	}
	return nil
}

func (g Gateway) codecNames() error {
	numbers := make(map[string]int32, len(g.Codecs))
	for _, number := range sortedKeys(g.Codecs) {
		name := g.Codecs[number]
		shown := fmt.Sprintf("%d=%s", number, name)
		switch {
		case number < 10000:
			return invalid("codecs", shown, "custom codecs have numbers from 10000")
		case number == envelopeCodec:
			return invalid("codecs", shown, "the number is the gateway's own")
		case !matches(`^[a-z][a-z0-9._-]{0,31}$`, name):
			return invalid("codecs", shown, "want a name of a-z, 0-9 and ._- that begins with a letter")
		case slices.Contains([]string{"raw", "gzip", "lzop", "zstd", "base64"}, name):
			return invalid("codecs", shown, "the name has a meaning of its own")
		}
		if other, taken := numbers[name]; taken {
			return invalid("codecs", shown, "codec %d has this name already", other)
		}
		numbers[name] = number
	}
	return nil
}

func listenAddress(key, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil || !portNumber(port) {
		return invalid(key, address, "want host:port")
	}
	return nil
}

func portNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func relativePath(p string) bool {
	if !matches(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`, p) {
		return false
	}
	return filepath.IsLocal(p) && path.Clean(p) == p && p != "."
}

func matches(pattern, s string) bool { return regexp.MustCompile(pattern).MatchString(s) }

func sortedKeys(m map[int32]string) []int32 {
	keys := make([]int32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
