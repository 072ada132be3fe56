# Hook of PBS Pro and OpenPBS: gives a gang of GPU nodes the nodes that the placement service chose, in rank order, and holds them
# while the job runs. Whatever goes wrong, the job is taken as it is. RAILMAP_PBS=off in the job's variables leaves it alone.
import json
import os
import re
import subprocess
import tempfile

import pbs

RAILMAP = "/usr/bin/railmap"
SERVER = "http://127.0.0.1:7070"
SECONDS = 1.5  # how long the PBS server waits for the placement service


def log(text):
    pbs.logmsg(pbs.LOG_WARNING, "railmap: %s" % text)


def railmap(*args):
    """Runs railmap and returns what it prints; None when that failed."""
    command = [RAILMAP] + list(args) + ["--server", SERVER, "--timeout", "%gs" % SECONDS]
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = p.communicate(timeout=SECONDS + 1)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        raise
    if err:
        log(err.decode("utf-8", "replace").splitlines()[0])
    return out.decode() if p.returncode == 0 else None


def gang(select):
    """(nodes, chunk) of a select of one kind of chunk with GPUs that names no hosts; else None."""
    m = re.match(r"^(\d+):([^+]+)$", select)
    if not m or int(m.group(1)) < 2 or not re.search(r"\bngpus=[1-9]", m.group(2)):
        return None
    if re.search(r"\b(host|vnode)=", m.group(2)):
        return None
    return int(m.group(1)), m.group(2)


def place(job):
    found = gang(str(job.Resource_List["select"] or ""))
    variables = job.Variable_List or {}
    if found is None or variables.get("RAILMAP_PBS") == "off":
        return
    nodes, chunk = found
    folder = tempfile.mkdtemp(prefix="railmap.")
    lease = os.path.join(folder, "lease.json")
    try:
        out = railmap("place", "-N", str(nodes), "-o", "name", "--lease", "15m", "--side", "pbs", "--lease-file", lease, "--on-unavailable", "ignore")
        names = (out or "").split()
        if len(names) != nodes:
            return
        job.Resource_List["select"] = pbs.select("+".join("1:%s:vnode=%s" % (chunk, n) for n in names))
        job.Resource_List["place"] = pbs.place("scatter:excl")
        with open(lease) as f:
            held = json.load(f)
        job.Variable_List["RAILMAP_LEASE"] = "%s/%d" % (held["id"], held["token"])
    finally:
        if os.path.exists(lease):
            os.remove(lease)
        os.rmdir(folder)


def lease_of(job):
    return (job.Variable_List or {}).get("RAILMAP_LEASE", "").partition("/")


event = pbs.event()
try:
    if event.type == pbs.QUEUEJOB:
        place(event.job)
    elif event.job.in_ms_mom():
        name, held, token = lease_of(event.job)
        if held and event.type == pbs.EXECJOB_BEGIN:
            railmap("lease", "bind", name, "--token", token, "--side", "pbs", "--job", str(event.job.id))
        elif held and event.type == pbs.EXECJOB_END:
            railmap("lease", "release", name, "--token", token)
except Exception as err:  # a hook that fails must not keep a job from being queued or run
    log("%s: %s" % (type(err).__name__, err))
event.accept()
