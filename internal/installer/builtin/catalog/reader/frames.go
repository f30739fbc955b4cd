package reader

import "sync/atomic"

// sent is how many bytes a server has sent by HTTP/2: the payloads of DATA frames, and everything else.
type sent struct{ data, other atomic.Int64 }

// frames finds the frames in the bytes of an HTTP/2 connection: https://www.rfc-editor.org/rfc/rfc9113#section-4.1
type frames struct {
	header [9]byte
	have   int // bytes of the header of the next frame
	left   int // bytes of the payload of the current one
}

// frameData is the type of DATA frames.
const frameData = 0

// add counts the next bytes.
func (f *frames) add(p []byte, to *sent) {
	for len(p) > 0 {
		if f.left == 0 {
			n := copy(f.header[f.have:], p)
			f.have, p = f.have+n, p[n:]
			to.other.Add(int64(n))
			if f.have == len(f.header) {
				f.have, f.left = 0, int(f.header[0])<<16|int(f.header[1])<<8|int(f.header[2])
			}
			continue
		}
		n := min(f.left, len(p))
		f.left, p = f.left-n, p[n:]
		if f.header[3] == frameData {
			to.data.Add(int64(n))
		} else {
			to.other.Add(int64(n))
		}
	}
}
