#!/bin/sh
# Makes .venv anew, with exactly what requirements.lock names.
set -eu
cd "$(dirname "$0")/.."

python=
for name in python3.11 python3 python3.12 python3.13 python3.14; do
    # Run it, for a name may be on the PATH without a Python behind it.
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$name
        break
    fi
done
if [ -z "$python" ]; then
    echo "seatwarden needs Python 3.11 or newer, as python3.11 or python3 on the PATH" >&2
    exit 1
fi

# Debian ships this part of Python's library as a package of its own.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "$python cannot make virtual environments; on Debian: apt-get install $python-venv" >&2
        exit 1
    fi
    echo "Installing $python-venv"
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "$python-venv" >/dev/null
fi

"$python" -m venv --clear .venv
.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
