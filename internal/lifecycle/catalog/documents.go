package catalog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"sync"
	"unicode"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// documents is a file system of file-based catalogs, whose files cannot be read on from a document that is too much to be
// parsed.
type documents struct{ fs.FS }

const (
	// indexIgnore is the name of files that tell what else is none of a catalog's.
	indexIgnore = ".indexignore"

	// largestIgnore is how many bytes they may have.
	largestIgnore = 16 << 10
)

func (d documents) Open(name string) (fs.File, error) {
	f, err := d.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	switch {
	case info.IsDir():
		return f, nil
	case path.Base(name) != indexIgnore:
		return checkedFile{f, newChecked(f)}, nil
	case info.Size() > largestIgnore:
		return nil, errors.Join(failure(v1alpha1.ReasonTooLarge, "%s is larger than the limit of %s", name, size(largestIgnore)), f.Close())
	}
	return f, nil
}

type checkedFile struct {
	fs.File
	checked *checked
}

func (f checkedFile) Read(p []byte) (int, error) { return f.checked.Read(p) }

func (f checkedFile) Close() error {
	f.checked.done()
	return f.File.Close()
}

// checked passes on a stream of documents, each once it has been looked at and it is its turn. Who reads it has parsed a
// document when he begins to read the next, or calls done.
type checked struct {
	r *bufio.Reader

	// inJSON is true as long as there was nothing but objects in JSON, which need nothing between them.
	inJSON bool

	pending []byte // of the document that was looked at last
	done    func() // with that document
	err     error
}

func newChecked(r io.Reader) *checked {
	return &checked{r: bufio.NewReader(r), inJSON: true, done: func() {}}
}

func (c *checked) Read(p []byte) (int, error) {
	for len(c.pending) == 0 && c.err == nil {
		c.next()
	}
	if len(c.pending) == 0 {
		return 0, c.err
	}
	n := copy(p, c.pending)
	c.pending = c.pending[n:]
	return n, nil
}

func (c *checked) next() {
	document, err := c.document()
	if err == nil {
		err = bearable(document)
	}
	if err != nil {
		c.err = err
		return
	}
	c.done()
	c.done = sync.OnceFunc(takeTurn(document))
	c.pending = document
}

// document is the next one with what separates it from others. One that is too large is cut off.
func (c *checked) document() ([]byte, error) {
	if c.inJSON {
		text, err := c.object()
		if err != nil || len(text) > largestDocument || bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Valid(text) {
			return text, err
		}
		c.inJSON = false // from here on it is YAML, which has braces too
		c.r = bufio.NewReader(io.MultiReader(bytes.NewReader(text), c.r))
	}
	return c.lines()
}

// lines reads up to the line that separates a document in YAML from the next, with that line.
func (c *checked) lines() ([]byte, error) {
	var text []byte
	for begins := true; len(text) <= largestDocument; {
		piece, err := c.r.ReadSlice('\n')
		text = append(text, piece...)
		switch {
		case errors.Is(err, io.EOF) && len(text) > 0:
			return text, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case begins && bytes.HasPrefix(piece, []byte("---")):
			return text, nil
		}
		begins = err == nil
	}
	return text, nil
}

// object reads up to the end of an object in JSON, or of the stream where there is no such end.
func (c *checked) object() ([]byte, error) {
	var text []byte
	depth, quoted, escaped := 0, false, false
	for len(text) <= largestDocument {
		b, err := c.r.ReadByte()
		if errors.Is(err, io.EOF) && len(text) > 0 {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		text = append(text, b)
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = b == '\\', b != '"'
		case b == '"':
			quoted = true
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			depth--
		}
		if depth <= 0 && !quoted && !unicode.IsSpace(rune(b)) {
			return text, nil
		}
	}
	return text, nil
}
