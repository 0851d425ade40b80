#!/usr/bin/env bash
# Runs the topic tests of ydb-go-sdk's own integration suite, unmodified, against
# `sqsgate topicd`. tests.txt names them. The module is copied from Go's module
# cache to a temporary folder that is removed at the end.
#
# The write quota is off, for speed; QUOTA=enforce leaves it on (four minutes).
# BIN: the binary, default bin/sqsgate. KEEP: a folder to build in and keep, which
# saves the next run the build.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
bin=$(realpath "${BIN:-bin/sqsgate}")
module=github.com/ydb-platform/ydb-go-sdk/v3

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
test=$build/sdk-$(go list -m -f '{{.Version}}' "$module").test
if [ ! -x "$test" ]; then
	mkdir -p "$build"
	cp -r "$(go list -m -f '{{.Dir}}' "$module")" "$work/sdk"
	chmod -R u+w "$work/sdk"
	(cd "$work/sdk" && CGO_ENABLED=0 go test -tags integration -c -o "$test" ./tests/integration)
fi

"$bin" topicd --topic-listen 127.0.0.1:0 --data-dir "$work/data" --ready-file "$work/ready" --log-level warn \
	--topicd-write-quota "${QUOTA:-off}" &
server=$!
for _ in $(seq 100); do
	[ -s "$work/ready" ] && break
	kill -0 "$server"
	sleep 0.1
done
address=$(sed 's/.*"topic": *"\([^"]*\)".*/\1/' "$work/ready")

expected=$(grep -v '^#' "$here/tests.txt" | sort)
status=0
(cd "$work" && YDB_CONNECTION_STRING="grpc://$address/local" YDB_VERSION=25.4 \
	"$test" -test.run "^($(paste -sd'|' <<<"$expected"))\$" -test.v -test.timeout 8m) >"$work/log" 2>&1 || status=$?
grep -E '^ *--- (FAIL|SKIP)' "$work/log" || true
# Every test of the list has to be there and to pass, none may be skipped.
passed=$(sed -n 's/^--- PASS: \([^ ]*\).*/\1/p' "$work/log" | sort)
if [ "$status" != 0 ] || [ "$passed" != "$expected" ]; then
	[ -n "${LOG:-}" ] && cp "$work/log" "$LOG"
	echo "sdk-suite: failed (status $status); not passed:"
	comm -23 <(echo "$expected") <(echo "$passed")
	exit 1
fi
echo "sdk-suite: all $(wc -l <<<"$passed") tests of ydb-go-sdk passed"
