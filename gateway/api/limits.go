package api

// Limits of SQS. Sizes are in bytes of UTF-8, times in seconds.
const (
	MaxMessageBytes  = 1 << 20 // also of a whole batch; 256 KiB until 2025-08
	MinMessageBytes  = 1 << 10 // lowest MaximumMessageSize
	MaxBatchEntries  = 10
	MaxBatchIDLength = 80
	MaxReceive       = 10
	MaxWaitSeconds   = 20
	MaxDelaySeconds  = 900
	// MaxVisibilitySeconds also bounds the whole time since the receive.
	MaxVisibilitySeconds   = 43200
	MinRetentionSeconds    = 60
	MaxRetentionSeconds    = 1209600
	MaxMessageAttributes   = 10
	MaxAttributeNameLength = 256
	MaxGroupIDLength       = 128
	MaxQueueNameLength     = 80
	MaxListResults         = 1000
	MaxPolicyBytes         = 8192
	MaxReceiveCount        = 1000
	MaxRedriveSources      = 10
	MaxTags                = 50
	MaxTagKeyLength        = 128
	MaxTagValueLength      = 256
)
