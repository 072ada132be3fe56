// Package nccl renders NCCL's settings as files: one that most nodes share, and one for each node that differs.
//
// NCCL reads NAME=VALUE lines from /etc/nccl.conf (or the file that NCCL_CONF_FILE names); an environment variable of the job
// wins over a line. A prolog, an init container or configuration management puts nodes/NODE.conf there when it exists, and
// nccl.conf otherwise:
//
//	cp "nodes/$(hostname -s).conf" /etc/nccl.conf 2>/dev/null || cp nccl.conf /etc/nccl.conf
//
// What is worth setting, and why, is decided in topology/nccl; a job's own settings come from railmap nccl hints.
package nccl
