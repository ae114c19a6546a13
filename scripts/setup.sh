#!/usr/bin/env bash
# Makes the virtual environment from the lock file and installs trimtab into it in editable mode.
# Usage: scripts/setup.sh VENV_DIR [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$1
python=${2:-python3}

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

if ! command -v "$python" >/dev/null || ! "$python" -c "$new_enough" 2>/dev/null; then
    echo "Trimtab needs Python 3.11 or later, and '$python' is not that: install it, or name one with 'make PYTHON=/path/to/python3.11 setup'." >&2
    exit 1
fi

# An environment whose interpreter is gone or too old cannot be repaired, only made again.
if ! "$venv/bin/python" -c "$new_enough" 2>/dev/null || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    echo "Making a virtual environment in $venv"
    if ! "$python" -m venv --clear "$venv"; then
        echo "'$python -m venv' failed: install Python's venv module (Debian and Ubuntu: apt-get install python3-venv)." >&2
        exit 1
    fi
fi

pip=("$venv/bin/python" -m pip --disable-pip-version-check --quiet)
echo "Installing the locked dependencies"
# The lock file is complete. With dependencies resolved again, pip would look at releases that are
# newer than the lock and refuse them for their missing hash.
"${pip[@]}" install --no-deps --require-hashes -r requirements.lock
"${pip[@]}" install --no-deps --no-build-isolation --editable .
