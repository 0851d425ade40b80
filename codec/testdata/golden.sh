#!/bin/sh
# Makes the files of golden/ anew, with the programs gzip, zstd, lz4 and lzop.
# plain/text compresses well and plain/noise not at all; "long" is plain/text
# fifty times, more than one block of every format.
set -eu
cd "$(dirname "$0")"
rm -rf golden && mkdir golden
long=$(mktemp) && trap 'rm -f "$long"' EXIT
for _ in $(seq 50); do cat plain/text; done > "$long"

gzip -9n < plain/text > golden/text.gzip
gzip -1n < plain/noise > golden/noise.gzip
gzip -n < "$long" > golden/long.gzip
gzip -n < /dev/null > golden/empty.gzip
cat golden/text.gzip golden/noise.gzip > golden/text+noise.gzip
gzip -c plain/text > golden/text-name.gzip

zstd -q -3 -c plain/text > golden/text.zstd
zstd -q -3 < plain/text > golden/text-stdin.zstd
zstd -q --ultra -22 --long=27 < plain/text > golden/text-window128m.zstd
zstd -q --no-check -c plain/noise > golden/noise.zstd
zstd -q -19 < "$long" > golden/long.zstd
zstd -q < /dev/null > golden/empty.zstd
printf '\120\052\115\030\004\000\000\000skip' > golden/text+noise.zstd # a skippable frame
cat golden/text.zstd golden/noise.zstd >> golden/text+noise.zstd

lz4 -q -1 < plain/text > golden/text.lz4
lz4 -q -9 --content-size -BD -B4 -c plain/text > golden/text-linked64k.lz4
lz4 -q -l < plain/text > golden/text-legacy.lz4
lz4 -q -BX --no-frame-crc < plain/noise > golden/noise.lz4
lz4 -q -BD -B4 < "$long" > golden/long.lz4
lz4 -q < /dev/null > golden/empty.lz4
cat golden/text.lz4 golden/noise.lz4 > golden/text+noise.lz4

lzop -c plain/text > golden/text.lzop
lzop -1 < plain/text > golden/text-1stdin.lzop
lzop -9 < plain/text > golden/text-9.lzop
lzop -3 --crc32 -c plain/text > golden/text-crc32.lzop
lzop -9 --crc32 < plain/text > golden/text-9crc32.lzop
lzop -F < plain/text > golden/text-nosum.lzop
lzop < plain/noise > golden/noise.lzop
lzop --crc32 < plain/noise > golden/noise-crc32.lzop
lzop -F < plain/noise > golden/noise-nosum.lzop
lzop -9 < "$long" > golden/long.lzop
lzop -1 --crc32 < "$long" > golden/long-1crc32.lzop
lzop < /dev/null > golden/empty.lzop
lzop -q -c plain/text plain/noise > golden/text+noise.lzop
