"""Starts a script on one node, with a process for the node."""

import argparse
import os
import sys

parser = argparse.ArgumentParser()
for option in ("--nnodes", "--node_rank", "--nproc_per_node", "--master_addr", "--master_port"):
    parser.add_argument(option, required=True)
parser.add_argument("words", nargs=argparse.REMAINDER)
args = parser.parse_args()
os.environ.update(RANK=args.node_rank, WORLD_SIZE=args.nnodes)
os.environ.update(MASTER_ADDR=args.master_addr, MASTER_PORT=args.master_port)
script, *rest = args.words
os.execv(sys.executable, [sys.executable, script, "--local_rank=0", *rest])
