// Package bench measures: what railmap reads and answers, how fast, in how much memory, on clusters of any size.
package bench
