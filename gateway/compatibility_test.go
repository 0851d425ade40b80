package gateway

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// docs/COMPATIBILITY.md has a row for every action, and for every attribute of
// queues and messages that AWS's model has.
func TestCompatibilityNamesEverything(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "docs", "COMPATIBILITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.SplitSeq(string(raw), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !slices.Contains([]string{"yes", "limited", "never", "own"}, strings.TrimSpace(cells[2])) {
			continue
		}
		for part := range strings.SplitSeq(cells[1], ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(part), " ") // "MessageGroupId on FIFO queues"
			rows[name] = true
		}
	}
	names := edge(nil).Actions()
	for _, name := range types.QueueAttributeName("").Values() {
		names = append(names, string(name))
	}
	for _, name := range types.MessageSystemAttributeName("").Values() {
		names = append(names, string(name))
	}
	for _, name := range names {
		if name != "All" && !rows[name] {
			t.Errorf("there is no row for %s", name)
		}
	}
}
