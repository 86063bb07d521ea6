"""The machine that benchmarks run on, and how busy it is."""

import datetime
import os
import platform
import subprocess
from pathlib import Path

BENCH = Path(__file__).resolve().parent


def busy_s():
    """CPU time of all programs on all cores that was not idle, including stolen time."""
    with open("/proc/stat") as file:
        user, nice, system, _idle, _wait, irq, soft_irq, steal, *_ = file.readline().split()[1:]
    ticks = sum(map(int, (user, nice, system, irq, soft_irq, steal)))
    return ticks / os.sysconf("SC_CLK_TCK")


def where(versions):
    """The kind of machine and the versions, without anything that identifies the machine."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break

    def output(*command):
        return subprocess.run(command, cwd=BENCH, capture_output=True, text=True).stdout.strip()

    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") / 2**30
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "load_at_end": os.getloadavg()[0],
        "versions": {
            "fairfront": output("git", "describe", "--always", "--dirty"),
            "rustc": output("rustc", "--version"),
            "python": platform.python_version(),
            **versions,
        },
    }
