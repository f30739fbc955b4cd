package faults

import (
	"context"
	"io"
	"net/http"
	"time"
)

// list is a list that clients ask for, as it was at several moments.
type list struct {
	request request
	at      []moment
}

type moment struct {
	time   time.Time
	header http.Header
	body   []byte
}

const (
	recordEvery  = 2 * time.Second
	mostRecorded = 60
)

// stale answers with an old list if the config requires one and one was recorded, and reports whether it did. The first
// request for a list starts its recording.
func (p *Proxy) stale(w http.ResponseWriter, r request, config Config) bool {
	age := config.StaleLists[r.resource]
	if age == 0 || r.Method != http.MethodGet || r.URL.Query().Get("resourceVersion") != "0" {
		return false
	}
	key := r.URL.RequestURI() + " " + r.Header.Get("Accept") + " " + r.Header.Get("Impersonate-User")
	p.mu.Lock()
	known := p.lists[key]
	if known == nil {
		recorded := request{Request: r.Clone(context.Background()), resource: r.resource}
		recorded.Header.Set("User-Agent", "faults") // in the audit log, this is no request of the client
		p.lists[key] = &list{request: recorded}
	}
	var found *moment
	if known != nil {
		for i := range known.at {
			if time.Since(known.at[i].time) >= age {
				found = &known.at[i]
			}
		}
	}
	p.mu.Unlock()
	if found == nil {
		return false
	}
	p.note(staleList)
	writeHeader(w, &http.Response{StatusCode: http.StatusOK, Header: found.header})
	_, _ = w.Write(found.body) // the client may have left
	return true
}

// recordLists records the lists that clients ask for.
func (p *Proxy) recordLists() {
	for p.wait(recordEvery, nil) {
		p.mu.Lock()
		var all []*list
		for _, l := range p.lists {
			all = append(all, l)
		}
		p.mu.Unlock()
		for _, l := range all {
			if now, ok := p.read(l.request); ok {
				p.mu.Lock()
				if l.at = append(l.at, now); len(l.at) > mostRecorded {
					l.at = l.at[1:]
				}
				p.mu.Unlock()
			}
		}
	}
}

func (p *Proxy) read(r request) (moment, bool) {
	response, err := p.send(context.Background(), r)
	if err != nil {
		return moment{}, false
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	body, err := io.ReadAll(response.Body)
	return moment{time.Now(), response.Header, body}, err == nil && response.StatusCode == http.StatusOK
}
