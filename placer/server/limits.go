package server

import "time"

// Limits of the service, in one place. They are not configurable: a value that is right for 100,000 nodes is right for all.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 60 * time.Second
	maxHeaderBytes    = 16 << 10
	maxConnections    = 4096

	maxReportBody  = 1 << 20   // node and pair reports, occupancy of a small cluster
	maxFabricBody  = 256 << 20 // a fabric report of 131,072 adapters; administrators only
	maxRequestBody = 64 << 10
	maxGzipRatio   = 20
	maxJSONDepth   = 32

	reportsEvery  = 10 * time.Second // per identity
	reportsBurst  = 3
	placePerSec   = 20
	placeBurst    = 40
	maxIdentities = 100_000 // rate limiters kept

	maxWait        = 60 * time.Second // long poll
	drainTime      = 10 * time.Second
	maxSubscribers = 256
)
