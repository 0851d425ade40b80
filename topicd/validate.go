package topicd

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/durationpb"
)

// validate holds a configuration against YDB's rules for Create and Alter.
func (c *topicConfig) validate() error {
	switch {
	case c.MinActive < 0:
		return badRequest("Partitions count must be positive, provided %d", c.MinActive)
	case c.MinActive > maxPartitions:
		return badRequest("Partitions count must not be greater than %d, provided %d", maxPartitions, c.MinActive)
	case c.MaxActive < 0 || (c.MaxActive > 0 && c.MaxActive < c.MinActive):
		return badRequest("Max active partitions must be greater than or equal to partitions count or equals zero (unlimited), provided %d, partitions count %d", c.MaxActive, c.MinActive)
	case c.Auto.UpPercent < 0 || c.Auto.UpPercent > 100:
		return badRequest("Partition scale up threshold percent must be between 0 and 100, provided %d", c.Auto.UpPercent)
	case c.Auto.DownPercent < 0 || c.Auto.DownPercent > 100:
		return badRequest("Partition scale down threshold percent must be between 0 and 100, provided %d", c.Auto.DownPercent)
	case c.Auto.WindowMs < 0:
		return badRequest("Partition scale threshold time must not be negative")
	case c.RetentionMB < 0:
		return badRequest("retention_storage_mb can't be negative, provided %d", c.RetentionMB)
	case c.RetentionMB > 0 && c.autoPartitioned():
		return badRequest("Auto partitioning is incompatible with retention storage bytes option")
	case c.WriteSpeed < 0:
		return badRequest("partition_write_speed_bytes_per_second can't be negative, provided %d", c.WriteSpeed)
	case c.WriteBurst < 0:
		return badRequest("partition_write_burst_bytes can't be negative, provided %d", c.WriteBurst)
	case c.WriteBurst > 1<<20 && c.WriteBurst/2 > c.WriteSpeed:
		return badRequest("Invalid write burst in partition specified: %d vs %d", c.WriteBurst, c.WriteSpeed)
	case len(c.Consumers) > maxConsumers:
		return badRequest("read rules count cannot be more than %d, provided %d", maxConsumers, len(c.Consumers))
	}
	if err := checkCodecs(c.Codecs); err != nil {
		return err
	}
	if err := checkAttributes(c.Attributes); err != nil {
		return err
	}
	for i := range c.Consumers {
		if err := c.Consumers[i].validate(c.Codecs); err != nil {
			return err
		}
	}
	return nil
}

func (c *consumerConfig) validate(topicCodecs []int32) error {
	switch {
	case c.Name == "":
		return badRequest("consumer with empty name is forbidden")
	case strings.ContainsAny(c.Name, "/|"):
		return badRequest("consumer '%s' has illegal symbols", c.Name)
	case c.Important && c.AvailabilityMs != 0:
		return badRequest("consumer '%s': important and availability_period are mutually exclusive", c.Name)
	case c.AvailabilityMs < 0:
		return badRequest("consumer '%s': availability_period can't be negative", c.Name)
	}
	if err := checkCodecs(c.Codecs); err != nil {
		return err
	}
	if len(c.Codecs) > 0 {
		for _, codec := range topicCodecs {
			if !slices.Contains(c.Codecs, codec) {
				return badRequest("in consumer '%s' codec %d of the topic is not supported", c.Name, codec)
			}
		}
	}
	return nil
}

func checkCodecs(codecs []int32) error {
	for _, c := range codecs {
		if c < int32(Ydb_Topic.Codec_CODEC_RAW) || (c > int32(Ydb_Topic.Codec_CODEC_ZSTD) && c < int32(Ydb_Topic.Codec_CODEC_CUSTOM)) {
			return badRequest("Unknown codec with value %d", c)
		}
	}
	return nil
}

// checkAttributes refuses attributes that a cluster does not know: what does
// not work there must not work here.
func checkAttributes(attrs map[string]string) error {
	for name, value := range attrs {
		switch {
		case name == "_partitions_per_tablet":
			if n, err := strconv.ParseUint(value, 10, 32); err != nil || n == 0 || n > 20 {
				return badRequest("Attribute partitions_per_tablet must be a number from 1 to 20, got %q", value)
			}
		case name == "_max_partition_storage_size", name == "_message_group_seqno_retention_period_ms",
			name == "_max_partition_message_groups_seqno_stored":
			if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < 0 {
				return badRequest("Attribute %s is not a valid number: %q", strings.TrimPrefix(name, "_"), value)
			}
		case name == "_allow_unauthenticated_read", name == "_allow_unauthenticated_write":
			if _, err := strconv.ParseBool(value); err != nil {
				return badRequest("Attribute %s is not a valid boolean: %q", strings.TrimPrefix(name, "_"), value)
			}
		case name == "_cleanup_policy", name == "_timestamp_type", name == "_federation_account", strings.HasPrefix(name, "_abc_"):
		default:
			return badRequest("Attribute %s is not supported", name)
		}
	}
	return nil
}

// consumerAttributes keeps what a cluster keeps of a consumer's attributes.
func consumerAttributes(in map[string]string) map[string]string {
	out := make(map[string]string)
	for _, name := range []string{"_version", "_service_type", "_service_type_password"} {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
	return out
}

func checkMetering(mode Ydb_Topic.MeteringMode) error {
	if mode == Ydb_Topic.MeteringMode_METERING_MODE_UNSPECIFIED {
		return nil
	}
	return statusf(Ydb.StatusIds_PRECONDITION_FAILED, "Metering mode can only be specified in a serverless database")
}

func retentionMs(d *durationpb.Duration) (int64, error) {
	if s := d.GetSeconds(); !d.IsValid() || s < 0 || d.AsDuration() <= 0 || s > math.MaxInt32 {
		return 0, badRequest("retention_period must be greater than 0 and less than 2^31 seconds")
	}
	return max(d.AsDuration().Milliseconds(), 1), nil
}

// sharedConsumer looks for the field of newer protocols that asks for a
// shared consumer; the streaming type (field 9) is what everybody gets.
func sharedConsumer(unknown []byte) bool {
	const sharedConsumerType = 10
	for len(unknown) > 0 {
		num, _, n := protowire.ConsumeField(unknown)
		if n < 0 {
			return false
		}
		if num == sharedConsumerType {
			return true
		}
		unknown = unknown[n:]
	}
	return false
}
