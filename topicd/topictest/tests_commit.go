package topictest

import (
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

func (s *subject) setOffset(offset int64, session string, want Ydb.StatusIds_StatusCode) {
	s.Helper()
	res, err := s.topics.CommitOffset(s.ctx, &Ydb_Topic.CommitOffsetRequest{
		Path: s.path, Consumer: "c", Offset: offset, ReadSessionId: session,
	})
	s.must(res, err, want, nil)
}

func commitTests() []behaviour {
	return []behaviour{
		{"commits apply as far as they are contiguous", func(s *subject) {
			s.create(nil)
			s.fill(6)
			r := s.read("c")
			id, _ := r.accept()
			r.credit(1 << 20)
			r.take(6)
			r.commit(id, 2, 4)
			r.quiet(id)
			r.commit(id, 0, 2)
			r.committedTo(id, 4)
			if got := s.committed(0); got != 4 {
				s.Errorf("committed %d, want 4", got)
			}
		}},
		{"the next session starts from what is committed", func(s *subject) {
			s.create(nil)
			s.fill(4)
			r := s.read("c")
			id, _ := r.accept()
			r.commit(id, 0, 3)
			r.committedTo(id, 3)
			r.close()
			if st := s.read("c").start(); st.GetCommittedOffset() != 3 {
				s.Errorf("start request %v", st)
			}
		}},
		{"a double commit ends the session with BAD_REQUEST", func(s *subject) {
			s.create(nil)
			s.fill(2)
			r := s.read("c")
			id, _ := r.accept()
			r.commit(id, 0, 1)
			r.committedTo(id, 1)
			r.commit(id, 0, 1)
			r.refused()
		}},
		{"an offset set by hand may go back but not beyond the end", func(s *subject) {
			s.create(nil)
			s.fill(3)
			s.setOffset(3, "", Ydb.StatusIds_SUCCESS)
			s.setOffset(1, "", Ydb.StatusIds_SUCCESS)
			if got := s.committed(0); got != 1 {
				s.Errorf("committed %d, want 1", got)
			}
			s.setOffset(4, "", Ydb.StatusIds_BAD_REQUEST)
		}},
		{"with a session id only that session may commit", func(s *subject) {
			s.create(nil)
			s.fill(3)
			r := s.read("c")
			r.accept()
			s.setOffset(2, "dead", Ydb.StatusIds_SESSION_EXPIRED)
			s.setOffset(2, r.session, Ydb.StatusIds_SUCCESS)
			s.setOffset(1, r.session, Ydb.StatusIds_SUCCESS)
			if got := s.committed(0); got != 2 {
				s.Errorf("committed %d, want 2", got)
			}
		}},
		{"reading below the committed offset is BAD_REQUEST", func(s *subject) {
			s.create(nil)
			s.fill(3)
			s.setOffset(2, "", Ydb.StatusIds_SUCCESS)
			r := s.read("c")
			r.confirm(r.start().GetPartitionSession().GetPartitionSessionId(), ptr(1), nil)
			r.refused()
		}},
		{"committing beyond what is read is BAD_REQUEST at the start", func(s *subject) {
			s.create(nil)
			s.fill(3)
			r := s.read("c")
			r.confirm(r.start().GetPartitionSession().GetPartitionSessionId(), ptr(1), ptr(2))
			r.refused()
		}},
	}
}
