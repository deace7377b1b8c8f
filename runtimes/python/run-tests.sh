#!/bin/sh
# Lints, type-checks and tests the python runtime, in the virtual environment of test-environment.sh.
# Arguments go to pytest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
project="$here/../.."
. "$here/test-environment.sh"

cd "$here"
ruff format --check --quiet .
ruff check --quiet .
mypy --no-error-summary
exec python -m pytest -n 2 --dist loadfile "$@"
