"""Python's own tests, redis and postgres on a quarter, half and three quarters of their memory
(`make soak`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from rss import MIB, Watched, assert_the_budget_holds, watched
from test_run import HERE, program, pytestmark

pytestmark = [
    *pytestmark,
    pytest.mark.skipif("SWAPLAB_SOAK_SECONDS" not in os.environ, reason="minutes long: make soak"),
    pytest.mark.timeout(3600),
]
SHARES = (0.25, 0.5, 0.75)


@pytest.mark.parametrize("module", ["test_json", "test_dict", "test_list", "test_re", "test_threading", "test_gc"])
def test_python_on_its_own_tests(module):
    python = program("python3")
    if subprocess.run([python, "-c", f"import test.{module}"], capture_output=True).returncode:
        pytest.skip("this python3 comes without its own tests")
    command = [python, "-m", "test", "-r", "--randseed", "1", module]

    def outcome(run: Watched) -> tuple[int, list[bytes]]:
        return run.code, [line for line in run.out.splitlines() if line.startswith((b"Total tests", b"Result"))]

    native = watched(command, None, timeout=900)
    for share in SHARES:
        dram = max(int(share * max(native.anonymous.values())), MIB)
        run = watched(command, dram, timeout=900)
        assert outcome(run) == outcome(native), share
        assert_the_budget_holds(run, dram)


def test_redis_with_a_client_that_verifies(tmp_path):
    port = str(20000 + os.getpid() % 20000)
    command = [program("redis-server"), "--port", port, "--dir", str(tmp_path), "--save", "", "--enable-debug-command", "yes"]
    clients = []

    def verify() -> None:
        client = [sys.executable, HERE / "redis_client.py", port, "12000"]
        clients.append(subprocess.run(client, capture_output=True, text=True, timeout=600))

    native = watched(command, None, use=verify)
    for share in SHARES:
        dram = int(share * max(native.anonymous.values()))
        run = watched(command, dram, use=verify, timeout=900)
        assert_the_budget_holds(run, dram)
    assert [client.stdout for client in clients] == ["verified 12000\n"] * 4, clients


SQL_UNDER_LOAD = b"""create table t as select i, md5(i::text) as s from generate_series(1, 200000) i;
set work_mem = '256MB';
select count(*), sum(length(s)), md5(string_agg(s, '' order by s)) from t;
select count(*) from (select s, count(*) from t a join t b using (s) group by s) q;
drop table t;
"""


def test_a_backend_of_postgres_under_load():
    """One backend, run as the user that postgres requires. Shared memory is a mapping of its own
    here as well.
    """
    found = shutil.which("postgres")
    if os.getuid() != 0 or found is None or shutil.which("setpriv") is None:
        pytest.skip("needs root, postgres and setpriv")
    data = Path(tempfile.mkdtemp(prefix="swaplab-postgres-"))
    postgres = Path(found).resolve()
    user = [program("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    try:
        os.chown(data, 65534, 65534)
        subprocess.run(
            [*user, postgres.parent / "initdb", "-D", data, "--no-sync", "-A", "trust"], check=True, capture_output=True, cwd=data
        )
        command = [*user, str(postgres), "--single", "-D", str(data), "postgres"]
        native = watched(command, None, given=SQL_UNDER_LOAD, cwd=data)
        assert b'1: count = "200000"' in native.out, native.err
        for share in SHARES:
            dram = int(share * max(native.anonymous.values()))
            run = watched(command, dram, given=SQL_UNDER_LOAD, cwd=data)
            assert (run.code, run.out) == (native.code, native.out), run.err
            assert_the_budget_holds(run, dram)
    finally:
        shutil.rmtree(data)
