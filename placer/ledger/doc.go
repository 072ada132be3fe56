// Package ledger keeps who holds which GPUs: leases, one state machine, two stores.
//
// Promises: a GPU is never held by two live leases; an acknowledged lease survives any crash; a gang is held whole or not at
// all; a paused old holder is refused by its fencing token. How they are kept:
//
//	request ──► one goroutine ──► State (try) ──► Store.Commit (fsync or etcd transaction) ──► State (committed) ──► reply
//
// Nothing is acknowledged before it is durable, nothing uncommitted is ever read, and every change goes through one serial
// point: the goroutine here, and with several servers the head revision that each etcd transaction compares.
//
// Time: a lease ends when its time to live has passed on the monotonic clock of a server that saw it granted or renewed. The
// wall clock decides nothing, so a clock jump can neither shorten a lease nor hand its GPUs out twice; after a restart a
// lease starts its full time again.
package ledger
