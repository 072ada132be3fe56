// Package nccl predicts what NVIDIA's NCCL will make of a machine and a job: it reads and writes NCCL topology XML, finds
// the rings, trees and NVLS graphs that NCCL's search would find, and computes time and bus bandwidth per algorithm and
// protocol. It never loads NCCL; every rule is written from the behaviour of the published source, per version.
package nccl
