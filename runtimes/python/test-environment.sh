# Read by the scripts that test Python, with the folder of the project in $project: makes the virtual environment
# .data/venv-python-runtime there, where it is missing or its pins have changed, and puts it first.
venv="$project/.data/venv-python-runtime"
pins="$project/runtimes/python/requirements-dev.txt"

if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
  echo "python3 or its venv module is missing: installing Debian's python3 and python3-venv with apt-get" >&2
  sudo=''
  if [ "$(id -u)" -ne 0 ]; then sudo='sudo'; fi
  $sudo apt-get install -y python3 python3-venv >&2 || { $sudo apt-get update >&2 && $sudo apt-get install -y python3 python3-venv >&2; }
fi

if ! cmp -s "$pins" "$venv/installed.txt"; then
  echo 'making the virtual environment that tests Python' >&2
  rm -rf "$venv"
  python3 -m venv "$venv"
  # Compiled is what the tests import, not all that is there.
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile -r "$pins"
  PYTHONDONTWRITEBYTECODE='' "$venv/bin/python" -c 'import pandas, pytest, xdist'
  cp "$pins" "$venv/installed.txt"
fi

export PATH="$venv/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 MYPY_CACHE_DIR="$venv/types"
