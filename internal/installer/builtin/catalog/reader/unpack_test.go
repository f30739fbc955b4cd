package reader

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

func TestUnpack(t *testing.T) {
	tests := map[string]struct {
		reason string
		layers [][]catalogtest.TarEntry // the lowest first
		folder string
		want   []string
		err    string
	}{
		"one layer": {
			reason: "Files outside the folder are ignored.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("configs/a", "1", "./configs/b/c", "2", "/configs/d", "3", "etc/passwd", "x", "configsother/e", "x")},
			folder: "/configs",
			want:   []string{"configs/a=1", "configs/b/c=2", "configs/d=3"},
		},
		"everything": {
			reason: "The folder may be the root of the image.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("a", "1", "b/c", "2")},
			folder: "/",
			want:   []string{"a=1", "b/c=2"},
		},
		"replaced": {
			reason: "A file of an upper layer replaces a file or a folder of a lower one.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("configs/a", "old", "configs/b/c", "old"), catalogtest.Files("configs/a", "new", "configs/b", "new")},
			folder: "/configs",
			want:   []string{"configs/a=new", "configs/b=new"},
		},
		"removed": {
			reason: "Whiteouts of an upper layer remove files and folders, including the catalog's folder.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("configs/a", "1", "configs/b/c", "2"), catalogtest.Files("configs/.wh.b", ""),
				catalogtest.Files(".wh.configs", "", "configs/d", "3")},
			folder: "/configs",
			want:   nil, // entries after a whiteout in the same archive are removed too
		},
		"emptied": {
			reason: "An opaque folder of an upper layer keeps the files of that layer, also those before the whiteout.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("configs/a", "1"), catalogtest.Files("configs/b", "2", "configs/.wh..wh..opq", "", "configs/c", "3")},
			folder: "/configs",
			want:   []string{"configs/b=2", "configs/c=3"},
		},
		"links": {
			reason: "Symbolic and hard links are reported and not followed.",
			layers: [][]catalogtest.TarEntry{{{Name: "configs/a", Link: "../../../etc"}, {Name: "configs/b", Link: "/etc/passwd", Hard: true}}},
			folder: "/configs",
			want:   []string{"configs/a is a link", "configs/b is a link"},
		},
		"through a link": {
			reason: "A file below a link is hidden by the link.",
			layers: [][]catalogtest.TarEntry{append([]catalogtest.TarEntry{{Name: "configs/a", Link: "/tmp"}}, catalogtest.Files("configs/a/b", "x")...)},
			folder: "/configs",
			want:   []string{"configs/a is a link"},
		},
		"the folder is a link": {
			reason: "A link is reported if it is a parent of the folder.",
			layers: [][]catalogtest.TarEntry{{{Name: "a", Link: "/etc"}}},
			folder: "/a/configs",
			want:   []string{"a is a link"},
		},
		"upwards": {
			reason: "An image with a path outside its archive is refused.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("var/../../x", "x")},
			folder: "/configs",
			err:    `the image has a path that points outside its archive: "../x"`,
		},
		"a long name": {
			reason: "An entry is refused if its name is longer than that of any file.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("configs/"+strings.Repeat("a", 5000), "x")},
			folder: "/configs",
			err:    "the image has an entry whose name is 5008 bytes long: configs/" + strings.Repeat("a", 189) + "…",
		},
		"long names elsewhere": {
			reason: "A long name is ignored outside the folder.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("var/"+strings.Repeat("a", 5000), "x", "configs/a", "1")},
			folder: "/configs",
			want:   []string{"configs/a=1"},
		},
		"many files": {
			reason: "Whiteouts count toward the limit of files, since they are kept in memory.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("configs/a", "1", "configs/b", "1"),
				catalogtest.Files("configs/.wh.c", "", "configs/.wh.d", "", "configs/e", "1")},
			folder: "/configs",
			err:    errTooMany.Error(),
			want:   []string{"configs/e=1", "configs/a=1"},
		},
		"many files elsewhere": {
			reason: "Files outside the folder do not count toward the limit.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("1", "", "2", "", "3", "", "4", "", "5", "", "configs/a", "1")},
			folder: "/configs",
			want:   []string{"configs/a=1"},
		},
		"hidden bytes": {
			reason: "Bytes that an upper layer removes count toward the limit, since they are read.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("var/a", strings.Repeat("x", 100<<10)), catalogtest.Files(".wh.var", "", "configs/a", "1")},
			folder: "/configs",
			err:    errTooMuch.Error(),
			want:   []string{"configs/a=1"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := unpacked(catalogtest.Image(t, nil, tc.layers...), tc.folder)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			message := ""
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff(tc.err, message); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// unpacked returns the files of a folder with their content. The limits are 64 KiB and 4 paths.
func unpacked(image v1.Image, folder string) (out []string, err error) {
	u := unpacker{wanted: concerns(folder), paths: 4, bytes: 64 << 10}
	u.take = func(f file, r io.Reader) error {
		if f.isLink() {
			out = append(out, f.path+" is a link")
			return nil
		}
		data, err := io.ReadAll(r)
		out = append(out, fmt.Sprintf("%s=%s", f.path, data))
		return err
	}
	err = u.unpack(context.Background(), image)
	return out, err
}

func TestUnpackNoArchive(t *testing.T) {
	image, err := catalogtest.ImageOf([]byte(strings.Repeat("{}", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unpacked(image, "/configs"); !errors.Is(err, unfit("a layer of the image is not a tar archive")) {
		t.Errorf("an image without a tar archive is not refused permanently: %v", err)
	}
}

func TestDecompressed(t *testing.T) {
	const text = "an archive"
	inZstd := func(options ...zstd.EOption) []byte {
		var out bytes.Buffer
		w, err := zstd.NewWriter(&out, options...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(w, text)
		if err := errors.Join(err, w.Flush(), w.Close()); err != nil { // flushed first, so the writer cannot know that this is all
			t.Fatal(err)
		}
		return out.Bytes()
	}
	var inGzip bytes.Buffer
	w := gzip.NewWriter(&inGzip)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason string
		packed []byte
		fails  bool
	}{
		"nothing":        {"A layer that is not compressed is read.", []byte(text), false},
		"gzip":           {"A layer compressed with gzip is read.", inGzip.Bytes(), false},
		"zstd":           {"A layer compressed with zstd is read.", inZstd(), false},
		"a large window": {"A zstd window of half a gigabyte is refused, since it has to be in memory.", inZstd(zstd.WithWindowSize(512 << 20)), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []byte
			out, err := decompressed(bytes.NewReader(tc.packed))
			if err == nil {
				got, err = io.ReadAll(out)
			}
			if (err != nil) != tc.fails || !tc.fails && string(got) != text {
				t.Errorf("%s\ngot %q, %v", tc.reason, got, err)
			}
		})
	}
}

// TestUnpackReadsToTheEnd verifies that a layer is read to its end, where its digest is verified.
func TestUnpackReadsToTheEnd(t *testing.T) {
	registry := catalogtest.NewRegistry(t, "")
	p := newPuller(catalog.DefaultLimits)
	r, err := p.resolve(t.Context(), registry.PushFalse(t, "false", catalogtest.Files("configs/a", "1")))
	if err != nil {
		t.Fatal(err)
	}
	image, _, err := p.open(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unpacked(image, "/configs"); err == nil || !strings.Contains(err.Error(), "error verifying") {
		t.Errorf("a layer with another digest is accepted: %v", err)
	}
}
