#!/usr/bin/env python3
"""usage: shared.py serve SOCKET COUNT COMMAND...
       shared.py ask SOCKET

Processes that take long to start, for many who ask in turn. What they are asked and what they answer are lines.

serve   keeps up to COUNT processes of COMMAND, started when they are first wanted and again when they died; says {} once
        SOCKET can be asked, and ends with whoever started it.
ask     stands for one of them: its lines are that one's, and it dies of what that one dies of. Who leaves with a question
        open has that process killed, for nobody knows when it will answer."""

import ctypes
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Process:
    def __init__(self, command):
        self.command, self.running = command, None

    def start(self):
        self.running = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, preexec_fn=end_with_parent)
        self.greeting = self.running.stdout.readline()

    def stop(self):
        if self.running:
            self.running.kill()
            self.running.wait()
        self.running = None

    def answer(self, question, asker):
        """None: it died, or nobody waits any more."""
        try:
            self.running.stdin.write(question)
            self.running.stdin.flush()
        except BrokenPipeError:
            return None
        ready, _, _ = select.select([self.running.stdout, asker], [], [])
        if self.running.stdout not in ready:  # nobody asks twice at once: so it left
            self.stop()
            return None
        return self.running.stdout.readline() or None


def attend(asker, free):
    process = free.get()
    try:
        if not process.running:
            process.start()
        if process.greeting:
            asker.sendall(process.greeting)
            for question in asker.makefile("rb"):
                answer = process.answer(question, asker)
                if answer is None:
                    break
                asker.sendall(answer)
            else:
                return
        if process.running:
            asker.sendall(json.dumps({"died": process.running.wait()}).encode() + b"\n")
            process.stop()
    except OSError:  # nobody listens: what it would say next answers nobody
        process.stop()
    finally:
        asker.close()
        free.put(process)


def serve(path, count, command):
    # Threads start processes, and a process ends with the thread that made it: so threads that stay.
    end_with_parent()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    free, askers = queue.SimpleQueue(), queue.SimpleQueue()
    for _ in range(count):
        free.put(Process(command))

    def work():
        while True:
            attend(askers.get(), free)

    for _ in range(count):
        threading.Thread(target=work, daemon=True).start()
    print("{}", flush=True)
    while True:
        askers.put(listening.accept()[0])


def ask(path):
    end_with_parent()
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(path)
    lines = channel.makefile("rb")

    def pass_on():
        for line in iter(sys.stdin.buffer.readline, b""):
            channel.sendall(line)
        os._exit(0)

    threading.Thread(target=pass_on, daemon=True).start()
    for line in lines:
        told = json.loads(line)
        if "died" not in told:
            os.write(1, line)
        elif told["died"] < 0:
            os.kill(os.getpid(), -told["died"])
        else:
            os._exit(told["died"])
    os._exit(1)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    else:
        ask(sys.argv[2])
