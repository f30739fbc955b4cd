package faults

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// piece is a part of the response of a watch.
type piece struct {
	at   time.Time
	data []byte
}

// watched is a watch that is being forwarded.
type watched struct {
	*Client
	request
	w       http.ResponseWriter
	pieces  <-chan piece
	isJSON  bool
	flusher http.Flusher
}

// watch forwards a watch, piece by piece.
func (c *Client) watch(w http.ResponseWriter, r request, config Config) {
	initial := r.URL.Query().Get("sendInitialEvents") == "true"
	if fault := c.proxy.pick(config.Watches); fault != "" && (fault != Expired || !initial) {
		c.proxy.note(fault)
		refuse(w, fault)
		return
	}
	r.Header.Set("Accept-Encoding", "identity")
	response, err := c.proxy.send(r.Context(), r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = response.Body.Close() }() // abandoned
	writeHeader(w, response)
	if response.StatusCode != http.StatusOK {
		_, _ = io.Copy(w, response.Body) // the client notices an incomplete body
		return
	}
	out := watched{
		Client: c, request: r, w: w, pieces: pieces(response.Body), flusher: w.(http.Flusher),
		isJSON: strings.Contains(response.Header.Get("Content-Type"), "json"),
	}
	out.flusher.Flush()
	out.forward()
}

// pieces reads a response until it ends or is closed.
func pieces(body io.Reader) <-chan piece {
	const most = 4096
	out := make(chan piece, most)
	go func() {
		defer close(out)
		for {
			buffer := make([]byte, 32<<10)
			n, err := body.Read(buffer)
			if n > 0 {
				select {
				case out <- piece{time.Now(), buffer[:n]}:
				default:
					return // the client does not read
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// checkEvery is how often a watch notices that the config has changed.
const checkEvery = 200 * time.Millisecond

func (w watched) forward() {
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	var end <-chan time.Time
	for {
		config := w.proxy.current()
		if isCut, _ := w.state(); isCut || config.refusal(w.name, w.request) != nil {
			panic(http.ErrAbortHandler)
		}
		if end == nil && config.WatchLife > 0 {
			end = time.After(w.proxy.exponential(config.WatchLife))
		}
		select {
		case <-w.Context().Done():
			return
		case <-w.proxy.ended:
			return
		case <-check.C:
		case <-end:
			if end = nil; config.WatchLife > 0 {
				w.end(config)
				return
			}
		case next, ok := <-w.pieces:
			if !ok || !w.pass(next) {
				return
			}
		}
	}
}

// pass writes a piece once it is due, and reports whether it did.
func (w watched) pass(next piece) bool {
	for {
		config := w.proxy.current()
		isCut, thawed := w.state()
		if isCut || config.refusal(w.name, w.request) != nil {
			panic(http.ErrAbortHandler)
		}
		behind := max(config.Behind[w.resource], config.Behind["*"])
		due := time.Until(next.at.Add(behind))
		select {
		case <-thawed:
		default:
			due = checkEvery
		}
		if due <= 0 {
			break
		}
		if !w.proxy.wait(min(due, checkEvery), w.Context().Done()) {
			return false
		}
	}
	if _, err := w.w.Write(next.data); err != nil {
		return false
	}
	if len(w.pieces) == 0 {
		w.flusher.Flush()
	}
	return true
}

// end ends the watch in a random way.
func (w watched) end(config Config) {
	w.proxy.note(watchEnds)
	switch ways := 5; w.proxy.upTo(ways) {
	case 0: // properly
	case 1:
		panic(http.ErrAbortHandler)
	case 2: // in the middle of an event
		select {
		case next, ok := <-w.pieces:
			if ok {
				_, _ = w.w.Write(next.data[:len(next.data)/2]) // it is cut off anyway
				w.flusher.Flush()
			}
		case <-time.After(time.Second):
		case <-w.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case 3:
		if w.isJSON {
			_, _ = io.WriteString(w.w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
				`"message":"injected: too old resource version","reason":"Expired","code":410}}`+"\n") // the client may have left
			w.flusher.Flush()
		}
	default: // after it has sent nothing for a while
		w.proxy.wait(w.proxy.upToTime(config.Longest), w.Context().Done())
		panic(http.ErrAbortHandler)
	}
}
