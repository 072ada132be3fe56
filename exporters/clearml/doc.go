// Package clearml renders the map for a ClearML server: one queue per side and leaf group, and the requests that put the task of
// one placement into its queue with NCCL's environment.
//
// The open server knows no topology and no gangs: the unit of placement is a queue that agents pull from. All functions give
// the bodies of requests (POST with a bearer token, server API 2.13 and newer); nothing here opens a connection.
package clearml
