"""What every benchmark prints first: the machine, the versions and the seed."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

PACKAGES = ("trimtab", "numpy", "numba", "pyarrow", "pandas", "pyspark")


def facts(seed: int) -> dict[str, str]:
    """Return what a reader needs in order to judge the figures, as text."""
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            names = [
                line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
            ]
        cpu = names[0] if names else cpu
    except OSError:
        pass  # not Linux: the processor's family must do
    return {
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "seed": str(seed),
        "load": " ".join(f"{value:.1f}" for value in os.getloadavg()) + " (1, 5, 15 minutes)",
    }


def heading(title: str, seed: int) -> str:
    """Return the benchmark's title and the machine's facts, a line each."""
    return "\n".join([title, *(f"  {key}: {value}" for key, value in facts(seed).items())])
