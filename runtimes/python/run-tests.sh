#!/bin/sh
# Lints, type-checks and tests the python runtime, in a virtual environment of its own:
# .data/venv-python-runtime in the project's folder, made where it is missing or its pins have changed.
# Arguments go to pytest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/../../.data/venv-python-runtime"
pins="$here/requirements-dev.txt"

if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
  echo "python3 or its venv module is missing: installing Debian's python3 and python3-venv with apt-get" >&2
  sudo=''
  if [ "$(id -u)" -ne 0 ]; then sudo='sudo'; fi
  $sudo apt-get install -y python3 python3-venv >&2 || { $sudo apt-get update >&2 && $sudo apt-get install -y python3 python3-venv >&2; }
fi

if ! cmp -s "$pins" "$venv/installed.txt"; then
  echo 'making the virtual environment of the python runtime' >&2
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$pins"
  cp "$pins" "$venv/installed.txt"
fi

cd "$here"
export PATH="$venv/bin:$PATH" PYTHONDONTWRITEBYTECODE=1
ruff format --check --quiet .
ruff check --quiet .
mypy --no-error-summary
exec python -m pytest -n 2 --dist loadfile "$@"
