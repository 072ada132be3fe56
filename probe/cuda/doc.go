// Package cuda measures copies and access latency on GPUs through the CUDA driver library alone (libcuda.so.1, loaded at run
// time with prototypes of our own): no toolkit is needed to build or to run. It also runs NCCL's all-reduce through
// libnccl.so.2.
//
// It is made to run in a child process: a driver call that hangs can only be ended with its process, and the driver frees
// the memory of a process that ends. Inside the process every allocation is freed on every path.
//
// Method: copies wait behind a flag in host memory (cuStreamWaitValue32), so that queueing them costs no measured time; one
// warm-up copy; then 16 copies of 512 MiB between two events; three times, of which the median counts.
package cuda
