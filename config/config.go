package config

import "time"

//go:generate go test . -run ^TestReference$ -update

// Config is everything that can be set. The parts are separate because
// `sqsgate topicd` takes only the first two.
type Config struct {
	Process
	Topicd
	Gateway
}

// Process holds the settings of every long-running command.
type Process struct {
	File      string `name:"config" placeholder:"FILE" yaml:"-" help:"YAML file with settings."`
	LogLevel  string `name:"log-level" default:"info" enum:"debug,info,warn,error" help:"Least level that is logged: ${enum}. debug has one line a request."`
	LogFormat string `name:"log-format" default:"text" enum:"text,json" help:"Form of the log on standard error: ${enum}."`
	ReadyFile string `name:"ready-file" placeholder:"FILE" help:"File that receives the listening addresses as JSON once everything serves; removed at the stop."`
}

// Topicd holds the settings of the embedded topic server. `sqsgate serve --ydb`
// uses none of them.
type Topicd struct {
	TopicListen    string `name:"topic-listen" default:"127.0.0.1:2136" placeholder:"HOST:PORT" help:"Address of the embedded server's Topic API (gRPC). Port 0 picks a free one."`
	TopicAdvertise string `name:"topic-advertise" placeholder:"HOST:PORT" help:"Address that discovery tells Topic API clients. Default: the one the client has called."`
	DataDir        string `name:"data-dir" default:"./sqsgate-data" placeholder:"DIR" help:"Directory of the embedded server's store. One process at a time."`
	Database       string `name:"database" placeholder:"PATH" help:"Path of the database. Default /local, with --ydb the one of its address."`
	TLSCert        string `name:"tls-cert" placeholder:"FILE" help:"PEM certificate chain of the embedded server's Topic API. Default: no TLS."`
	TLSKey         string `name:"tls-key" placeholder:"FILE" help:"PEM private key of --tls-cert."`

	Topics Topics `embed:"" prefix:"topicd-" yaml:"topicd"`
}

// Topics says how the embedded topic server treats its clients.
type Topics struct {
	WriteQuota string `name:"write-quota" placeholder:"off|enforce" help:"Whether writes above a partition's write speed are delayed, as on a cluster: off, enforce. Default: enforce in topicd, off in serve."`
	User       string `name:"user" help:"The one user of the Topic API. Default: everybody is anonymous."`
	Password   Secret `name:"password" placeholder:"PASSWORD" help:"Password of --topicd-user. Visible in the process list: better the variable."`
}

// Values of Topics.WriteQuota.
const (
	WriteQuotaOff     = "off"
	WriteQuotaEnforce = "enforce"
)

// Gateway holds the settings of `sqsgate serve` beside those of the embedded
// server.
type Gateway struct {
	Listen      string `name:"listen" default:"127.0.0.1:9324" placeholder:"HOST:PORT" help:"Address of the SQS API (HTTP). Port 0 picks a free one."`
	AdminListen string `name:"admin-listen" default:"127.0.0.1:9325" placeholder:"HOST:PORT" help:"Address of metrics, health and profiles (HTTP). Port 0 picks a free one. Not for the public: it asks for no credentials."`
	PublicURL   string `name:"public-url" placeholder:"URL" help:"Start of the queue URLs that are handed out. Default: http:// and the Host header of the request."`
	Region      string `name:"region" default:"us-east-1" help:"AWS region in ARNs."`
	Account     string `name:"account" default:"000000000000" help:"AWS account in ARNs and queue URLs, 12 digits."`

	QueueRoot string `name:"queue-root" placeholder:"PATH" help:"Directory of the queues' topics, relative to the database. Default: the database itself."`
	StateRoot string `name:"state-root" default:"sqsgate" placeholder:"PATH" help:"Directory of the gateway's own topics, relative to the database. All gateways of a database share one."`
	Consumer  string `name:"consumer" default:"ydb-sqs-consumer" help:"Consumer that makes a topic a queue."`

	YDB             string `name:"ydb" placeholder:"ADDRESS" help:"Cluster that keeps the topics, grpc[s]://host:port/database. Default: the embedded server."`
	YDBUser         string `name:"ydb-user" help:"User for the cluster. Default: anonymous."`
	YDBPassword     Secret `name:"ydb-password" placeholder:"PASSWORD" help:"Password of --ydb-user. Visible in the process list: better the variable or --ydb-password-file."`
	YDBPasswordFile string `name:"ydb-password-file" placeholder:"FILE" help:"File that holds the password of --ydb-user."`
	YDBToken        Secret `name:"ydb-token" placeholder:"TOKEN" help:"Access token for the cluster. Visible in the process list: better the variable or --ydb-token-file."`
	YDBTokenFile    string `name:"ydb-token-file" placeholder:"FILE" help:"File that holds the access token; read again when it changes."`
	YDBCAFile       string `name:"ydb-ca-file" placeholder:"FILE" help:"PEM certificates to trust for grpcs://."`

	TopicRetention  time.Duration `name:"topic-retention" placeholder:"DURATION" help:"Retention of new topics beyond what the queue needs. Default 24h on a cluster, 1h embedded."`
	RequestTimeout  time.Duration `name:"request-timeout" default:"10s" help:"Longest work for one request, not counting the wait of a long poll. Then ServiceUnavailable is answered."`
	RefreshInterval time.Duration `name:"refresh-interval" default:"10s" help:"Time between two looks for topics that others have made or changed."`
	BodyCacheBytes  Bytes         `name:"body-cache-bytes" default:"128MiB" help:"Memory for message bodies that wait; more are read again when needed. Units B, KiB, MiB, GiB."`

	AWSCooldowns     bool `name:"aws-cooldowns" help:"Refuse a second PurgeQueue of a queue, and CreateQueue with the name of a deleted one, for 60 seconds, as AWS does."`
	AutoCreateQueues bool `name:"auto-create-queues" help:"Make a queue that SendMessage, ReceiveMessage or GetQueueUrl name and that is not there."`

	AutoCreateConsumer bool `name:"auto-create-consumer" help:"Make the consumer of a queue that is asked for by name and whose topic is there without it."`

	Queues Queues `name:"queues" yaml:"only" hidden:"" help:"Queues to make, or bring up to date, at the start; see below."`

	Codecs map[int32]string `name:"codecs" placeholder:"NUMBER=NAME" help:"Names that BodyEncoding shows for custom codecs of the Topic API, e.g. 10010=brotli."`

	Receive Receive `embed:"" prefix:"receive-" yaml:"receive"`

	FIFO FIFO `embed:"" prefix:"fifo-" yaml:"fifo"`
	Auth Auth `embed:"" prefix:"auth-" yaml:"auth"`
}

// Receive says what is received of large messages.
type Receive struct {
	MaxAnswerBytes Bytes  `name:"max-answer-bytes" default:"16MiB" help:"Most that the messages of one ReceiveMessage have together, as they are returned: base64 of compressed and binary bodies, characters escaped. 8MiB to 64MiB."`
	Oversize       string `name:"oversize" default:"dead_letter" help:"What becomes of a message of a Topic API writer that has more: dead_letter moves it as the RedrivePolicy says, and skips it where there is none; skip deletes it from the queue. Its topic keeps it."`
}

// Values of Receive.Oversize.
const (
	OversizeDeadLetter = "dead_letter"
	OversizeSkip       = "skip"
)

// FIFO holds the limits of FIFO queues.
type FIFO struct {
	MessagesPerSecondPerPartition int           `name:"messages-per-second-per-partition" default:"1000" help:"Messages a second that one partition of a FIFO queue takes; bursts of the same size."`
	ThrottleWait                  time.Duration `name:"throttle-wait" default:"200ms" help:"How long a send above that rate waits before RequestThrottled is answered."`
}

// Auth says who may call.
type Auth struct {
	Mode         string `name:"mode" default:"none" help:"Check of the callers' signatures: none, or sigv4 with the keys of auth.keys."`
	StrictRegion bool   `name:"strict-region" help:"Refuse requests that are signed for another region than --region."`
	Keys         Keys   `name:"keys" yaml:"only" hidden:"" help:"Access keys of the callers; see below."`
}

// Embedded says whether the topics live in this process.
func (g Gateway) Embedded() bool { return g.YDB == "" }
