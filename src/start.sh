#!/bin/sh
# Starts the service with what only its parent can give it; the arguments are those of `npm start --`.
# As it was called: nothing need be readable above the project.
case $0 in
  */*) here=${0%/*} ;;
  *) here=. ;;
esac
node="$here/../node_modules/.bin/node"
[ -x "$node" ] || node=node
# The C library gives large pieces of memory back only where it may not move this limit itself.
export MALLOC_MMAP_THRESHOLD_=262144
# In MB: V8 lets the garbage of a long batch grow beyond this for the rest of its life, and is no faster for it.
exec "$node" --max-semi-space-size=16 "$here/start.js" "$@"
