"""psrecord around a command: ``psrecord_around.py INTERVAL LOG COMMAND …``."""

from __future__ import annotations

import subprocess
import sys

from psrecord.main import monitor

if __name__ == "__main__":
    interval, log, *command = sys.argv[1:]
    process = subprocess.Popen(command)
    monitor(process.pid, logfile=log, interval=float(interval))
    sys.exit(process.wait())
