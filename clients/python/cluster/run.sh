#!/bin/sh
# Scores a million rows with the real Spark and the real Ray, each on this machine alone, by two activators of which one is killed;
# and runs the examples of docs/volume.md as they are written. Takes some minutes, and 2 GB of disk and 4 GB of memory.
# Makes the virtual environment .data/venv-cluster in the folder of the project, where it is missing or its pins have changed.
# Arguments go to pytest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../../.." && pwd)
venv="$project/.data/venv-cluster"
pins="$here/requirements.txt"

install_by_apt() {
  echo "installing Debian's $* with apt-get" >&2
  sudo=''
  if [ "$(id -u)" -ne 0 ]; then sudo='sudo'; fi
  $sudo apt-get install -y "$@" >&2 || { $sudo apt-get update >&2 && $sudo apt-get install -y "$@" >&2; }
}

python3 -c 'import venv, ensurepip' 2>/dev/null || install_by_apt python3 python3-venv
# Spark runs in a JVM.
java -version 2>/dev/null || install_by_apt default-jre-headless

if ! cmp -s "$pins" "$venv/installed.txt"; then
  echo 'making the virtual environment of the clusters' >&2
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$pins"
  cp "$pins" "$venv/installed.txt"
fi

# As its users do; from a copy, since the installation leaves files in the folder.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$here/../pyproject.toml" "$here/../README.md" "$here/../kgrid_client" "$copy"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$copy"

cd "$here/.."
export PATH="$project/node_modules/.bin:$venv/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 RAY_USAGE_STATS_ENABLED=0
python -m pytest -o testpaths=cluster "$@"
