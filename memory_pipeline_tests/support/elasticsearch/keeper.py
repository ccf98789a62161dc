"""Keeps one server for a whole test run: ``python -m …keeper RUN FOLDER HOME [PASSWORD]``.

In the background it starts the server, writes its port into FOLDER/port, and stops it when the process RUN is no more,
however that ended.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import psutil

from memory_pipeline_tests.support.elasticsearch.server import ElasticsearchServer, free_port


def keep(run: int, folder: Path, home: Path, password: str | None) -> None:
    server = ElasticsearchServer(home, folder / "server", free_port(), password)
    try:
        running = psutil.Process(run)
        started = running.create_time()
        server.start()
        (folder / "port.new").write_text(str(server.port))
        (folder / "port.new").rename(folder / "port")
        while psutil.pid_exists(run) and psutil.Process(run).create_time() == started:
            time.sleep(0.5)
    except psutil.NoSuchProcess:
        pass
    except Exception as error:
        (folder / "failed").write_text(str(error))
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__" and os.fork() == 0:
    os.setsid()
    keep(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
