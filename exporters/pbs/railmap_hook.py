# Written by railmap. MOM hook for PBS Pro and OpenPBS: publishes what was measured on this host as resources of its vnode.
# FILE is the feature file of the node, lines KEY=VALUE (railmap export nfd --node NAME). After its expiry time, and without the
# file, the values are 0: a job that asks for a minimum then stays away.
import datetime

import pbs

FILE = "@FILE@"
RESOURCES = {"railmap.dev/busbw-gbps": "nccl_gbps", "railmap.dev/share-percent": "railmap_share"}


def expired(stamp):
    """An expiry time that cannot be read counts as over."""
    try:
        end = datetime.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return True
    return datetime.datetime.utcnow() >= end


def values(text):
    """The resources of a feature file. An expiry time holds for the lines below it."""
    found = dict((name, 0.0) for name in RESOURCES.values())
    old = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("# +expiry-time="):
            old = expired(line.split("=", 1)[1])
            continue
        key, sep, value = line.partition("=")
        if sep and key in RESOURCES and not old:
            try:
                found[RESOURCES[key]] = float(value)
            except ValueError:
                pbs.logmsg(pbs.LOG_WARNING, "railmap: %s: %s is no number" % (FILE, line))
    return found


event = pbs.event()
try:
    try:
        with open(FILE) as f:
            content = f.read(65536)
    except IOError as err:
        pbs.logmsg(pbs.LOG_WARNING, "railmap: %s" % err)
        content = ""
    host = pbs.get_local_nodename()
    vnode = event.vnode_list[host] if host in event.vnode_list else pbs.vnode(host)
    event.vnode_list[host] = vnode
    for name, value in values(content).items():
        vnode.resources_available[name] = value
except Exception as err:  # a hook that fails must not keep the host from running jobs
    pbs.logmsg(pbs.LOG_WARNING, "railmap: %s" % err)
event.accept()
