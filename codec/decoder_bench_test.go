package codec

import "testing"

func BenchmarkDecoder(b *testing.B) {
	d := mustDecoder(b, DecoderOptions{})
	for _, g := range goldenFiles(b) {
		switch g.name {
		case "text.gzip", "text.zstd", "text-stdin.zstd", "text.lzop", "text.lz4", "long.gzip", "long.zstd", "long.lzop", "long.lz4":
		default:
			continue
		}
		b.Run(g.name, func(b *testing.B) {
			body := string(base64Body(g.stored))
			b.SetBytes(int64(len(g.want)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Decode(body, g.encoding); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
