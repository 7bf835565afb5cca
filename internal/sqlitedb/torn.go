package sqlitedb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Sizes of SQLite's file formats, in bytes (https://www.sqlite.org/fileformat.html).
const (
	minPage     = 512
	maxPage     = 65536
	atPageSize  = 16 // in the header of the database, two bytes, big-endian; 1 means maxPage
	logHeader   = 32
	frameHeader = 24 // of a page in the log; it begins with the page's number, four bytes
)

// checkWholePages returns an error if the database's file ends within a page that its log
// does not hold. SQLite writes whole pages, and takes what is missing of the last one for
// zeros: its own checks do not notice that a file was cut there.
func checkWholePages(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening database: %w", err)
	}
	defer f.Close()
	var header [2]byte
	if _, err := f.ReadAt(header[:], atPageSize); err != nil {
		return fmt.Errorf("reading the header of %s: %w", path, err)
	}
	page := int64(binary.BigEndian.Uint16(header[:]))
	if page == 1 {
		page = maxPage
	}
	if page < minPage || page&(page-1) != 0 || size%page == 0 {
		return nil // or no database at all, which SQLite says itself
	}
	if hasContent(path + "-journal") {
		return nil // SQLite restores the size that the file had
	}
	logged, err := inLog(path+"-wal", page, uint32(size/page)+1)
	if err != nil || logged {
		return err
	}
	return fmt.Errorf("opening %s: %w: it ends within a page, at %d bytes", path, ErrDamaged, size)
}

// inLog reports whether a write-ahead log has a page.
func inLog(path string, size int64, number uint32) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening the database's log: %w", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	skip := int64(logHeader)
	for {
		var frame [frameHeader]byte
		_, err := io.CopyN(io.Discard, r, skip)
		if err == nil {
			_, err = io.ReadFull(r, frame[:])
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading the database's log: %w", err)
		}
		if binary.BigEndian.Uint32(frame[:]) == number {
			return true, nil
		}
		skip = size
	}
}
