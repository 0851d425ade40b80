package api

// idsOf is what the checks of a batch need of its entries.
type idsOf interface{ entryID() string }

func (e *SendEntry) entryID() string   { return e.ID }
func (e *HandleEntry) entryID() string { return e.ID }

// CheckSendBatch checks what makes a SendMessageBatch fail as a whole: no
// entries, ids, total size, number, and on FIFO queues a missing group or
// deduplication id. The order is the one clients know from other servers; AWS
// documents none.
func CheckSendBatch(entries []SendEntry, fifo, contentBased bool) error {
	if err := checkIDs[*SendEntry](entries, "SendMessageBatchRequestEntry"); err != nil {
		return err
	}
	total := 0
	for i := range entries {
		total += entries[i].Size()
	}
	if total > MaxMessageBytes {
		return Errorf(BatchRequestTooLong, "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", MaxMessageBytes, total)
	}
	if err := checkDistinct[*SendEntry](entries); err != nil {
		return err
	}
	if !fifo {
		return nil
	}
	for i := range entries {
		e := &entries[i]
		// A single send answers MissingParameter here, a batch does not.
		if !e.GroupID.Set {
			return Errorf(InvalidParameterValue, "The request must contain the parameter MessageGroupId.")
		}
		if !e.DeduplicationID.Set && !contentBased {
			return &Error{Kind: InvalidParameterValue, Message: noDeduplicationText}
		}
	}
	return nil
}

// CheckHandleBatch checks what makes a DeleteMessageBatch or a
// ChangeMessageVisibilityBatch fail as a whole. entry is the name AWS has for
// their entries.
func CheckHandleBatch(entries []HandleEntry, entry string) error {
	if err := checkIDs[*HandleEntry](entries, entry); err != nil {
		return err
	}
	return checkDistinct[*HandleEntry](entries)
}

func checkIDs[P interface {
	*E
	idsOf
}, E any](entries []E, entry string,
) error {
	if len(entries) == 0 {
		return Errorf(EmptyBatchRequest, "There should be at least one %s in the request.", entry)
	}
	for i := range entries {
		id := P(&entries[i]).entryID()
		if !simple(id) || len(id) > MaxBatchIDLength {
			return Errorf(InvalidBatchEntryID, "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most %d letters long.", MaxBatchIDLength)
		}
	}
	return nil
}

func checkDistinct[P interface {
	*E
	idsOf
}, E any](entries []E,
) error {
	if len(entries) > MaxBatchEntries {
		// Beyond the limit the ids are not compared pairwise.
		seen := make(map[string]struct{}, len(entries))
		for i := range entries {
			id := P(&entries[i]).entryID()
			if _, ok := seen[id]; ok {
				return Errorf(BatchEntryIDsNotDistinct, "Id %s repeated.", id)
			}
			seen[id] = struct{}{}
		}
		return Errorf(TooManyEntriesInBatchRequest, "Maximum number of entries per request are %d. You have sent %d.", MaxBatchEntries, len(entries))
	}
	for i := range entries {
		for j := range i {
			if id := P(&entries[i]).entryID(); id == P(&entries[j]).entryID() {
				return Errorf(BatchEntryIDsNotDistinct, "Id %s repeated.", id)
			}
		}
	}
	return nil
}
