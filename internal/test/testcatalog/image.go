package testcatalog

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Entry is an entry of the tar archive of an image layer. Its name is written as is, wherever it points.
type Entry struct {
	Name    string
	Content string

	// Zeros is the number of MiB of zeros that follow the content. They compress to next to nothing.
	Zeros int

	// Link is the target of a symbolic link or, if Hard is set, of a hard link.
	Link string
	Hard bool
}

// Files returns entries of plain files from pairs of path and content.
func Files(pairs ...string) []Entry {
	var out []Entry
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, Entry{Name: pairs[i], Content: pairs[i+1]})
	}
	return out
}

// Image returns an image with the given labels and layers, lowest layer first.
func Image(labels map[string]string, layers ...[]Entry) (v1.Image, error) {
	out, err := mutate.Config(empty.Image, v1.Config{Labels: labels})
	if err != nil {
		return nil, err
	}
	for _, entries := range layers {
		packed, err := pack(entries)
		if err != nil {
			return nil, err
		}
		if out, err = mutate.AppendLayers(out, static.NewLayer(packed, types.DockerLayer)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// BundleLabels are the labels of a bundle image.
var BundleLabels = map[string]string{"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1"}

// Manifests returns the files of a bundle as they are in its image.
func (b Bundle) Manifests() ([]Entry, error) {
	var out []Entry
	for i, o := range b.Objects {
		raw, err := json.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		out = append(out, Entry{Name: fmt.Sprintf("manifests/%d.json", i), Content: string(raw)})
	}
	return out, nil
}

// Oversized returns an image whose manifest claims a layer of that many bytes. Only the manifest can be pushed.
func Oversized(claim int64) (v1.Image, error) {
	return mutate.AppendLayers(empty.Image, claiming{static.NewLayer([]byte("not that much"), types.DockerLayer), claim})
}

// claiming is a layer that reports a size other than its own.
type claiming struct {
	v1.Layer
	size int64
}

func (c claiming) Size() (int64, error) { return c.size, nil }

const mebibyte = 1 << 20

// pack returns a gzipped archive of entries. It compresses a MiB of zeros once and repeats it, so gigabytes are cheap.
func pack(entries []Entry) ([]byte, error) {
	zeros, err := zip(make([]byte, mebibyte))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, e := range entries {
		if e.Zeros > 0 && len(e.Content)%512 != 0 {
			return nil, errors.New("zeros follow only whole blocks of an archive")
		}
		block, err := archived(e)
		if err != nil {
			return nil, err
		}
		packed, err := zip(block)
		if err != nil {
			return nil, err
		}
		out.Write(packed)
		out.Write(bytes.Repeat(zeros, e.Zeros))
	}
	end, err := zip(make([]byte, 1024))
	out.Write(end)
	return out.Bytes(), err
}

// archived returns an entry as it is in a tar archive, without its zeros.
func archived(e Entry) ([]byte, error) {
	header := &tar.Header{Name: e.Name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(e.Content)) + int64(e.Zeros)*mebibyte}
	switch {
	case e.Link != "" && e.Hard:
		header.Typeflag, header.Linkname = tar.TypeLink, e.Link
	case e.Link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.Link
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(e.Content)); err != nil {
		return nil, err
	}
	if e.Zeros == 0 { // otherwise Flush returns an error about missing content
		if err := w.Flush(); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func zip(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
