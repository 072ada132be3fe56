// Package server is the placement service: it holds the current map, takes reports and occupancy in, answers placements and
// grants leases over HTTP with JSON documents.
//
//	reports ──► intake ──► topology.Build ──► world (map + engines, swapped whole) ──► placements
//	                                             ▲                                        │
//	                       ledger (who holds what) ◄──────────── leases ◄────────────────┘
//
// A placement with a lease is computed inside the ledger's serial point, so two wrappers that ask at the same moment never
// get the same nodes. A placement without one reads a snapshot and takes no lock.
package server
