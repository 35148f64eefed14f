"""Scripts of a task of several nodes, as a lesson in TI-ONE has them, which need no PyTorch."""

from __future__ import annotations

__all__ = ["START_CLOUD", "files"]

PORT = 23457

# As the lesson has it, with the variables that its text names.
START_CLOUD = """\
num_nodes=$NODE_NUM
node_index=$INDEX
num_gpus=$GPU_NUM_PER_NODE
maddr=$CHIEF_IP

python3 -m torch.distributed.launch --nnode=${num_nodes} --node_rank=${node_index} --nproc_per_node=${num_gpus} \
--master_addr=${maddr} --master_port=23457 main.py \\
        /opt/ml/input/data/image_classify -a resnet50 --batch-size 128 --lr 0.01 --pretrained \
--local_world_size=${num_gpus}
"""

# In place of PyTorch's launcher: sets the variables of each process of a node, and ends with the largest exit code.
LAUNCH = """\
import argparse, os, subprocess, sys

parser = argparse.ArgumentParser()
for name in ("nnodes", "node_rank", "nproc_per_node"):
    parser.add_argument(f"--{name}", type=int)
for name in ("master_addr", "master_port"):
    parser.add_argument(f"--{name}")
parser.add_argument("command", nargs=argparse.REMAINDER)
found = parser.parse_args()
size = found.nnodes * found.nproc_per_node
shared = {"MASTER_ADDR": found.master_addr, "MASTER_PORT": found.master_port, "WORLD_SIZE": str(size)}
processes = []
for local in range(found.nproc_per_node):
    rank = found.node_rank * found.nproc_per_node + local
    environment = os.environ | shared | {"RANK": str(rank), "LOCAL_RANK": str(local)}
    processes.append(subprocess.Popen([sys.executable, *found.command], env=environment))
sys.exit(max(process.wait() for process in processes))
"""

# Adds up a number of each process, in all of them: the first one listens, as with the backend gloo.
MAIN = """\
import argparse, os, socket

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("-a", "--arch")
parser.add_argument("--batch-size", type=int)
parser.add_argument("--lr", type=float)
parser.add_argument("--pretrained", action="store_true")
parser.add_argument("--local_world_size", type=int)
found = parser.parse_args()
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
with open(os.path.join(found.data, "rows.csv")) as file:
    own = (rank + 1) * int(file.read())
if rank == 0:
    with socket.create_server(place) as server:
        peers = [server.accept()[0] for _ in range(size - 1)]
        total = own + sum(int.from_bytes(peer.recv(4), "big") for peer in peers)
        for peer in peers:
            peer.sendall(total.to_bytes(4, "big"))
else:
    while True:
        try:
            peer = socket.create_connection(place)
            break
        except ConnectionRefusedError:
            pass  # The first one is not there yet.
    peer.sendall(own.to_bytes(4, "big"))
    total = int.from_bytes(peer.recv(4), "big")
with open("/opt/ml/model/%d" % rank, "w") as file:
    file.write(str(total))
print("process %d of %d, model %s: total %d" % (rank, size, found.arch, total))
"""


def files(port: int = PORT) -> dict[str, str]:
    """Return the files of the code, by path. `port`: that of the first process, in place of the lesson's."""
    start = START_CLOUD.replace(f"master_port={PORT}", f"master_port={port}")
    return {"start_cloud.sh": start, "main.py": MAIN, "torch/distributed/launch.py": LAUNCH}
