"""A redis client that verifies every value: it sets keys, changes some while a forked child saves,
and reloads the dump.
"""

import hashlib
import random
import socket
import sys
import time

PORT, KEYS = int(sys.argv[1]), int(sys.argv[2])
BATCH = 200


def connect():
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", PORT))
        except OSError:
            time.sleep(0.1)
    raise SystemExit("no server")


connection = connect()
replies = connection.makefile("rb")


def send(*parts):
    connection.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))


def reply():
    line = replies.readline()
    if line[:1] in b"+:":
        return line[1:-2]
    if line[:1] != b"$":
        raise SystemExit(line)
    return replies.read(int(line[1:]) + 2)[:-2]


def value(key, generation):
    return hashlib.sha256(b"%d.%d" % (key, generation)).hexdigest().encode() * (4 + key % 13)


generation = [0] * KEYS


def write(keys):
    for start in range(0, len(keys), BATCH):
        for key in keys[start : start + BATCH]:
            send(b"set", b"k%d" % key, value(key, generation[key]))
        for _ in keys[start : start + BATCH]:
            assert reply() == b"OK"


def check(keys):
    for start in range(0, len(keys), BATCH):
        for key in keys[start : start + BATCH]:
            send(b"get", b"k%d" % key)
        for key in keys[start : start + BATCH]:
            assert reply() == value(key, generation[key]), key


random.seed(5)
write(range(KEYS))
saved = list(generation)
send(b"bgsave")
reply()
for _ in range(2):
    some = random.sample(range(KEYS), KEYS // 5)
    for key in some:
        generation[key] += 1
    write(some)
    check(random.sample(range(KEYS), KEYS // 2))
status = b"rdb_bgsave_in_progress:1"
while b"rdb_bgsave_in_progress:1" in status:
    time.sleep(0.1)
    send(b"info", b"persistence")
    status = reply()
assert b"rdb_last_bgsave_status:ok" in status, status
check(range(KEYS))
send(b"debug", b"reload", b"nosave")  # the child has saved the values at the time of the fork
assert reply() == b"OK"
generation = saved
check(range(KEYS))
print(f"verified {KEYS}")
send(b"shutdown", b"nosave")
