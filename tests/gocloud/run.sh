#!/usr/bin/env bash
# Runs the pubsub conformance tests of gocloud.dev, through its SQS driver,
# against `sqsgate serve`. The module is copied from Go's module cache to a
# temporary folder that is removed at the end; conformance_test.go.txt takes the
# place of the driver's own tests there, which want AWS.
#
# BIN: the binary, default bin/sqsgate. KEEP: a folder to build in and keep, which
# saves the next run the build.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
bin=$(realpath "${BIN:-bin/sqsgate}")
module=gocloud.dev@v0.49.0

work=$(mktemp -d)
server=
finish() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	chmod -R u+w "$work"
	rm -rf "$work"
}
trap finish EXIT

build=${KEEP:-$work}
test=$build/$module.test
if [ ! -x "$test" ] || [ "$here/conformance_test.go.txt" -nt "$test" ]; then
	mkdir -p "$build"
	source=$(cd "$work" && go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	cp -r "$source" "$work/module"
	chmod -R u+w "$work/module"
	rm "$work"/module/pubsub/awssnssqs/*_test.go
	cp "$here/conformance_test.go.txt" "$work/module/pubsub/awssnssqs/conformance_test.go"
	(cd "$work/module" && CGO_ENABLED=0 go vet ./pubsub/awssnssqs && CGO_ENABLED=0 go test -c -o "$test" ./pubsub/awssnssqs)
fi

"$bin" serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --topic-listen 127.0.0.1:0 --data-dir "$work/data" \
	--ready-file "$work/ready" --log-level warn &
server=$!
for _ in $(seq 100); do
	[ -s "$work/ready" ] && break
	kill -0 "$server"
	sleep 0.1
done
address=$(sed 's/.*"sqs": *"\([^"]*\)".*/\1/' "$work/ready")

status=0
(cd "$work" && SQS_ENDPOINT="http://$address" "$test" -test.v -test.timeout 5m) >"$work/log" 2>&1 || status=$?
[ -n "${LOG:-}" ] && cp "$work/log" "$LOG"
grep -E '^ *--- (FAIL|SKIP)' "$work/log" || true
if [ "$status" != 0 ]; then
	[ -n "${LOG:-}" ] || cat "$work/log"
	echo "gocloud-suite: failed (status $status)"
	exit 1
fi
echo "gocloud-suite: $(grep -cE '^    --- PASS' "$work/log") conformance tests of $module passed, $(grep -cE '^    --- SKIP' "$work/log") skipped"
