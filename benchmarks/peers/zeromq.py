# SPDX-License-Identifier: Apache-2.0
"""PYTHON zeromq.py N: push N float32, update, pull them, over ZeroMQ, once for every line that comes in.

Answers each with the seconds, as JSON.

For a Python that has pyzmq and numpy; nothing of this project is imported. Pieces of a megabyte, sent without a copy.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection

import numpy as np
import zmq

PIECE = 2**18  # elements


def serve(port: Connection, n: int) -> None:
    weights, socket = np.zeros(n, np.float32), zmq.Context(1).socket(zmq.ROUTER)
    socket.set_hwm(0)
    port.send(socket.bind_to_random_port("tcp://127.0.0.1"))
    begin = 0
    while True:
        who, frame = socket.recv_multipart(copy=False)
        gradient = np.frombuffer(frame.buffer, np.float32)
        if not gradient.size:
            return
        piece = weights[begin : begin + gradient.size]
        piece -= 0.1 * gradient
        socket.send(who, zmq.SNDMORE)
        socket.send(piece, copy=len(piece) < PIECE)
        begin = (begin + gradient.size) % n


def main(n: int) -> None:
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.Process(target=serve, args=(theirs, n))
    child.start()
    socket = zmq.Context(1).socket(zmq.DEALER)
    socket.set_hwm(0)
    socket.connect(f"tcp://127.0.0.1:{ours.recv()}")
    weights, gradient, count = np.zeros(n, np.float32), np.full(n, 1e-3, np.float32), 0
    for _ in sys.stdin:
        began = time.perf_counter()
        for begin in range(0, n, PIECE):
            socket.send(gradient[begin : begin + PIECE], copy=n < PIECE)
        for begin in range(0, n, PIECE):
            weights[begin : begin + PIECE] = np.frombuffer(socket.recv(copy=False).buffer, np.float32)
        print(json.dumps(time.perf_counter() - began), flush=True)
        count += 1
    socket.send(b"")
    child.join(10)
    assert np.allclose(weights, -1e-4 * count, rtol=1e-3)


if __name__ == "__main__":
    main(int(sys.argv[1]))
