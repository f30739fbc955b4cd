package reader

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// TestFrames verifies that the payloads of DATA frames are told from everything else, however the bytes arrive.
func TestFrames(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		var stream bytes.Buffer
		writer, want := http2.NewFramer(&stream, nil), int64(0)
		for range r.IntN(50) {
			var err error
			switch r.IntN(5) {
			case 0:
				err = writer.WritePing(false, [8]byte{1, 2, 3})
			case 1:
				err = writer.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20})
			case 2:
				err = writer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, r.IntN(300)), EndHeaders: true})
			case 3:
				err = writer.WriteWindowUpdate(0, 1)
			default:
				data := make([]byte, r.IntN(100_000))
				want += int64(len(data))
				err = writer.WriteData(1, false, data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		total := int64(stream.Len())
		var f frames
		var got sent
		for stream.Len() > 0 {
			f.add(stream.Next(1+r.IntN(20_000)), &got)
		}
		if data, other := got.data.Load(), got.other.Load(); data != want || other != total-want {
			t.Fatalf("%d bytes of data and %d others, want %d and %d", data, other, want, total-want)
		}
	}
}
