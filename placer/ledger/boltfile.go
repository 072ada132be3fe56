package ledger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
)

// boltFile walks a bbolt file page by page without mapping it. bbolt itself trusts its pages: a flipped bit in one can make
// it read behind the end of the mapping or turn in circles, in a goroutine where nobody can recover. So a file is walked here
// before it is opened. Layout (bbolt internal/common: page.go, meta.go, all little endian on the machines we run on):
//
//	page    id 8  flags 2  count 2  overflow 4                          | elements | keys and values
//	meta    magic 4  version 4  pageSize 4  flags 4  root 8  sequence 8  freelist 8  highWater 8  txid 8  FNV-64a 8
//	branch  pos 4  keySize 4  child 8          (pos counts from the element itself)
//	leaf    flags 4  pos 4  keySize 4  valueSize 4
type boltFile struct {
	data     []byte
	pageSize uint64
	high     uint64 // first page that was never used
	seen     map[uint64]bool
}

const (
	boltMagic      = 0xED0CDAED
	branchPage     = 0x01
	leafPage       = 0x02
	bucketElement  = 0x01
	pageHeader     = 16
	maxLedgerBytes = 4 << 30
)

// readBoltFile checks both meta pages and the length of the file, and returns the file at its last commit.
func readBoltFile(path string) (*boltFile, uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if info.Size() > maxLedgerBytes {
		return nil, 0, fmt.Errorf("%d bytes: must be at most %d", info.Size(), int64(maxLedgerBytes))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	f := &boltFile{data: data, seen: map[uint64]bool{}}
	root, best := uint64(0), uint64(0)
	for i := range uint64(2) {
		meta := f.meta(i)
		if meta == nil {
			continue
		}
		if txid := binary.LittleEndian.Uint64(meta[48:]); f.high == 0 || txid > best {
			best, root, f.high = txid, binary.LittleEndian.Uint64(meta[16:]), binary.LittleEndian.Uint64(meta[40:])
		}
	}
	if f.high == 0 {
		return nil, 0, fmt.Errorf("%w: no valid meta page: not a ledger, or its beginning is lost", ErrCorrupt)
	}
	if need := f.high * f.pageSize; f.high > maxLedgerBytes/f.pageSize || uint64(len(data)) < need {
		return nil, 0, fmt.Errorf("%w: %d bytes, the last commit needs %d: the file is cut short", ErrCorrupt, len(data), need)
	}
	return f, root, nil
}

// meta returns the body of a meta page when its checksum holds. The page size stands in the page itself.
func (f *boltFile) meta(i uint64) []byte {
	sizes := []uint64{f.pageSize}
	if f.pageSize == 0 {
		sizes = []uint64{4096, 8192, 16384, 65536}
	}
	for _, size := range sizes {
		at := i*size + pageHeader
		if at+64 > uint64(len(f.data)) {
			continue
		}
		body := f.data[at : at+64]
		sum := fnv.New64a()
		sum.Write(body[:56])
		if binary.LittleEndian.Uint32(body) == boltMagic && binary.LittleEndian.Uint64(body[56:]) == sum.Sum64() {
			if own := uint64(binary.LittleEndian.Uint32(body[8:])); own >= 512 && own <= 1<<20 && (i == 0 || own == size) {
				f.pageSize = own
				return body
			}
		}
	}
	return nil
}

// visitor is called for every key and value, in key order; bucket says that the value is a bucket.
type visitor func(key, value []byte, bucket bool) error

// walk visits everything below a page and returns its first and last key.
func (f *boltFile) walk(id uint64, visit visitor) (first, last []byte, err error) {
	if id < 2 || id >= f.high || f.seen[id] {
		return nil, nil, fmt.Errorf("%w: page %d is referred to twice or does not exist", ErrCorrupt, id)
	}
	f.seen[id] = true
	page := f.data[id*f.pageSize:]
	overflow := uint64(binary.LittleEndian.Uint32(page[12:]))
	if binary.LittleEndian.Uint64(page) != id || overflow >= f.high || id+overflow >= f.high {
		return nil, nil, fmt.Errorf("%w: page %d has the head of another", ErrCorrupt, id)
	}
	return f.elements(page[:(1+overflow)*f.pageSize], visit)
}

// elements visits the elements of a page; keys must rise, and lie where the branch above says.
func (f *boltFile) elements(page []byte, visit visitor) (first, last []byte, err error) {
	flags, count := binary.LittleEndian.Uint16(page[8:]), int(binary.LittleEndian.Uint16(page[10:]))
	if flags != branchPage && flags != leafPage || pageHeader+16*count > len(page) {
		return nil, nil, fmt.Errorf("%w: a page is neither branch nor leaf, or has too many elements", ErrCorrupt)
	}
	for i := range count {
		e := page[pageHeader+16*i:]
		var low, high []byte
		if flags == branchPage {
			low, high, err = f.branchElement(e, visit)
		} else {
			low, err = leafElement(e, visit)
			high = low
		}
		if err != nil {
			return nil, nil, err
		}
		if i > 0 && bytes.Compare(last, low) >= 0 {
			return nil, nil, fmt.Errorf("%w: keys are out of order", ErrCorrupt)
		}
		if last = high; i == 0 {
			first = low
		}
	}
	return first, last, nil
}

// branchElement visits the page below; the branch's key must not lie above its first key. It stands for its first key.
func (f *boltFile) branchElement(e []byte, visit visitor) (first, last []byte, err error) {
	pos, k := uint64(binary.LittleEndian.Uint32(e)), uint64(binary.LittleEndian.Uint32(e[4:]))
	if pos+k > uint64(len(e)) {
		return nil, nil, fmt.Errorf("%w: an element reaches behind its page", ErrCorrupt)
	}
	key := e[pos : pos+k]
	low, high, err := f.walk(binary.LittleEndian.Uint64(e[8:]), visit)
	if err == nil && (low == nil || bytes.Compare(key, low) > 0) {
		err = fmt.Errorf("%w: a page does not hold the keys that the page above says", ErrCorrupt)
	}
	return key, high, err
}

func leafElement(e []byte, visit visitor) ([]byte, error) {
	flags, pos := binary.LittleEndian.Uint32(e), uint64(binary.LittleEndian.Uint32(e[4:]))
	k, v := uint64(binary.LittleEndian.Uint32(e[8:])), uint64(binary.LittleEndian.Uint32(e[12:]))
	if pos+k+v > uint64(len(e)) || flags > bucketElement {
		return nil, fmt.Errorf("%w: an element reaches behind its page", ErrCorrupt)
	}
	key := e[pos : pos+k]
	return key, visit(key, e[pos+k:pos+k+v], flags == bucketElement)
}

// bucket visits the content of a bucket value: a page of its own, or a page inside the value.
func (f *boltFile) bucket(value []byte, visit visitor) error {
	if len(value) < 16 {
		return fmt.Errorf("%w: a bucket without head", ErrCorrupt)
	}
	var err error
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		_, _, err = f.walk(root, visit)
	} else if len(value) < 16+pageHeader {
		err = fmt.Errorf("%w: a bucket without page", ErrCorrupt)
	} else {
		_, _, err = f.elements(value[16:], visit)
	}
	return err
}
