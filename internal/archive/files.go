package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/therootcompany/xz"

	"github.com/operator-status/operator-status/internal/messages"
)

// file is a file of an archive. Its content can be read until the next one is.
type file struct {
	name     string
	size     int64 // as the archive states it
	modified time.Time
	content  io.Reader
}

// eachFile calls read with each wanted file of a folder, tar or zip file, or with the file itself if that is a manifest. Nothing outside is read:
// no links are followed. A tar file that is compressed must not unpack to more bytes than most.
func eachFile(name string, most int64, read func(file) error) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return eachInFolder(name, read)
	}
	opened, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }() // it is only read
	of := file{name: name, size: info.Size(), modified: info.ModTime(), content: opened}
	if isManifest(name) {
		return read(of)
	}
	content := bufio.NewReader(opened)
	switch magic, _ := content.Peek(6); { // a shorter file has fewer bytes
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		return eachInZip(opened, of, read)
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		of.content, err = gzip.NewReader(content)
	case bytes.HasPrefix(magic, []byte("\xfd7zXZ\x00")):
		of.content, err = xz.NewReader(content, xz.DefaultDictMax)
	default:
		of.content, most = content, info.Size()
	}
	if err != nil {
		return err
	}
	of.content = &limited{of.content, most, most}
	return eachInTar(of, read)
}

// limited is a reader that fails after most bytes.
type limited struct {
	io.Reader
	left, most int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n, fmt.Errorf("it unpacks to more than %s"+inFolder, messages.Size(l.most))
	}
	return n, err
}

func eachInFolder(name string, read func(file) error) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it is only read
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !wanted(name) {
			return err
		}
		content, err := root.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }() // it is only read
		return read(file{name: name, size: info.Size(), modified: info.ModTime(), content: content})
	})
}

func eachInTar(of file, read func(file) error) error {
	for files, n := tar.NewReader(of.content), 0; ; n++ {
		header, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case n == 0 && (errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF)):
			return fmt.Errorf("it is no folder, manifest, zip or tar file: %w", err)
		case err != nil:
			return err
		case header.Typeflag == tar.TypeReg && wanted(header.Name):
			if err := read(file{name: header.Name, size: header.Size, modified: of.modified, content: files}); err != nil {
				return err
			}
		}
	}
}

func eachInZip(opened io.ReaderAt, of file, read func(file) error) error {
	files, err := zip.NewReader(opened, of.size)
	if err != nil {
		return err
	}
	for _, f := range files.File {
		if !f.Mode().IsRegular() || !wanted(f.Name) {
			continue
		}
		content, err := f.Open()
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		err = read(file{name: f.Name, size: int64(f.UncompressedSize64), modified: of.modified, content: content})
		_ = content.Close() // it is only read
		if err != nil {
			return err
		}
	}
	return nil
}
