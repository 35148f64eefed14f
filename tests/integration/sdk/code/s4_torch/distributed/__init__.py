"""Sums over all nodes, by sockets to the first one."""

import os
import socket
import struct
import time

_peers = []


def get_rank():
    return int(os.environ["RANK"])


def get_world_size():
    return int(os.environ["WORLD_SIZE"])


def init_process_group(_backend):
    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if get_rank() == 0:
        listener = socket.create_server(place)
        _peers.extend(listener.accept()[0] for _ in range(get_world_size() - 1))
        return
    while not _peers:
        try:
            _peers.append(socket.create_connection(place))
        except OSError:
            time.sleep(0.05)


def all_reduce(value):
    if get_rank() == 0:
        value.value += sum(_receive(peer) for peer in _peers)
    else:
        _send(_peers[0], value.value)
        value.value = _receive(_peers[0])
        return
    for peer in _peers:
        _send(peer, value.value)


def destroy_process_group():
    for peer in _peers:
        peer.close()


def _send(peer, number):
    peer.sendall(struct.pack("d", number))


def _receive(peer):
    data = b""
    while len(data) < 8:
        data += peer.recv(8 - len(data))
    return struct.unpack("d", data)[0]
