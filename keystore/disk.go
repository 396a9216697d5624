package keystore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/parley-agents/parley/fault"
)

// maxFileSize is many times what a key file has.
const maxFileSize = 16 << 10

// createFile writes a new file so that it appears complete or not at all, and
// is on the disk when this returns. If the name is taken the error is
// [fs.ErrExist]: linking, unlike renaming, never replaces a file, not even one
// that another process made a moment ago.
func createFile(path string, content []byte) error {
	folder := filepath.Dir(path)
	temp, err := os.CreateTemp(folder, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Link(temp.Name(), path)
	}
	if err := errors.Join(err, os.Remove(temp.Name())); err != nil {
		return err
	}
	return syncFolder(folder)
}

// readFile returns a small file that only its owner can read.
func readFile(path string) ([]byte, error) {
	// Asked before opening, since opening a pipe would wait for its other end.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, damaged("%s: this is no file", path)
	}
	if err := checkMode(path, info, "600"); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxFileSize {
		return nil, fault.Errorf(fault.TooLarge, "", "%s: over %d bytes, no key file has so many", path, maxFileSize)
	}
	return content, nil
}

// checkMode refuses what others than the owner have any right to. Windows has
// no such mode; there the folder's access list decides.
func checkMode(path string, info fs.FileInfo, want string) error {
	if runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return damaged("%s is open to others (mode %04o): chmod %s %[1]s", path, info.Mode().Perm(), want)
}

// syncFolder makes sure that names added to or removed from a folder stay so.
// Windows cannot do it and does not need it.
func syncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
