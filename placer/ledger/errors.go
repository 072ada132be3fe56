package ledger

import "errors"

// What callers test for. Messages that carry data wrap these.
var (
	ErrHeld        = errors.New("held by another lease")                              // the GPUs are taken
	ErrNotFound    = errors.New("no such lease")                                      // never granted, or ended and forgotten
	ErrStaleToken  = errors.New("the token is not that of the lease")                 // an old holder, after the GPUs went to another
	ErrEnded       = errors.New("the lease has ended")                                // released or expired
	ErrKeyReused   = errors.New("the idempotency key was used for another request")   // same key, other content
	ErrInvalid     = errors.New("invalid request")                                    // the message says what must be different
	ErrUnavailable = errors.New("the store cannot be reached or written")             // outcome unknown: ask again with the same key
	ErrConflict    = errors.New("another server changed the ledger at the same time") // internal: the commit is tried again
	ErrClosed      = errors.New("the ledger is closed")
	ErrCorrupt     = errors.New("the store is damaged")
)
