#!/bin/sh
# Lints, type-checks and tests the client against a running service, in the virtual environment that the runtime has too.
# Arguments go to pytest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
. "$project/runtimes/python/test-environment.sh"

cd "$here"
ruff format --check --quiet .
ruff check --quiet .
mypy --no-error-summary
exec python -m pytest "$@"
