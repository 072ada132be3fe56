#!/bin/sh
# Compares the probe's host copies with an independent tool on a machine with an NVIDIA GPU, within 3 %.
#
#   make build && bench/gpu-check.sh [bin/railmap]
#
# It fetches nothing and takes at most five minutes. The other side is the first that is there: nvbandwidth, bandwidthTest of
# the CUDA samples, or Python with torch. The output goes to standard output: keep it under bench/results/ with date and machine.
set -eu
railmap=${1:-bin/railmap}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

date -u +'date: %Y-%m-%dT%H:%MZ'
nvidia-smi --query-gpu=index,name,driver_version,pcie.link.gen.max,pcie.link.width.max --format=csv
timeout 60 "$railmap" probe --measure=false -o table
timeout 150 "$railmap" probe --stage copy,p2p,latency -o json >"$work/report.json" || echo "probe ended with $?"

python3 - "$work/report.json" >"$work/ours" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
near = {"GPU%d" % g["index"]: "NUMA%d" % g.get("numaNode", 0) for g in r["gpus"]}
for c in r["measurements"].get("copies", []):
    if c.get("bidirectional") or c.get("together"):
        continue
    if c["to"] == "GPU0" and c["from"] == near["GPU0"]:
        print("h2d %.2f" % (c["bandwidthBytesPerSecond"]["value"] / 1e9))
    if c["from"] == "GPU0" and c["to"] == near["GPU0"]:
        print("d2h %.2f" % (c["bandwidthBytesPerSecond"]["value"] / 1e9))
PY

if command -v nvbandwidth >/dev/null; then
	tool=nvbandwidth
	for test in host_to_device_memcpy_ce device_to_host_memcpy_ce; do
		timeout 60 nvbandwidth -j -t $test >"$work/$test.json"
	done
	python3 - "$work" >"$work/theirs" <<'PY'
import json, sys
for name, test in (("h2d", "host_to_device_memcpy_ce"), ("d2h", "device_to_host_memcpy_ce")):
    m = json.load(open("%s/%s.json" % (sys.argv[1], test)))["nvbandwidth"]["testcases"][0]["bandwidth_matrix"]
    print(name, m[0][0])
PY
elif command -v bandwidthTest >/dev/null; then
	tool=bandwidthTest
	for way in htod dtoh; do
		timeout 60 bandwidthTest --memory=pinned --mode=range --start=536870912 --end=536870912 --increment=1 --$way --csv |
			sed -n "s/.*Bandwidth = \([0-9.]*\) GB\/s.*/$way \1/p"
	done | sed 's/htod/h2d/; s/dtoh/d2h/' >"$work/theirs"
else
	tool=torch
	timeout 120 python3 - >"$work/theirs" <<'PY'
import torch
n = 512 << 20
host, dev = torch.empty(n, dtype=torch.uint8, pin_memory=True), torch.empty(n, dtype=torch.uint8, device="cuda:0")
for name, to, frm in (("h2d", dev, host), ("d2h", host, dev)):
    to.copy_(frm, non_blocking=True); torch.cuda.synchronize()
    best = []
    for _ in range(3):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(16): to.copy_(frm, non_blocking=True)
        b.record(); torch.cuda.synchronize()
        best.append(16 * n / (a.elapsed_time(b) * 1e-3) / 1e9)
    print(name, "%.2f" % sorted(best)[1])
PY
fi

echo "GPU0, GB/s: railmap against $tool"
sort "$work/ours" >"$work/a"
sort "$work/theirs" >"$work/b"
join "$work/a" "$work/b" >"$work/both"
[ -s "$work/both" ] || { echo "nothing to compare"; exit 1; }
awk '{ d = ($2 - $3) / $3 * 100; printf "%s %s %s %+.1f %%\n", $1, $2, $3, d; if (d > 3 || d < -3) bad = 1 } END { exit bad }' "$work/both"
