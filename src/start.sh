#!/bin/sh
# Starts the service with what only its parent can give it; the arguments are those of `npm start --`.
# As it was called: nothing need be readable above the project.
case $0 in
  */*) here=${0%/*} ;;
  *) here=. ;;
esac
# Where npm puts it: for a checkout, and for a package with its dependencies in it or beside it.
for folder in .. ../.. ../../../..; do
  node="$here/$folder/node_modules/.bin/node"
  [ -x "$node" ] && break
  node=node
done
# The C library gives large pieces of memory back only where it may not move this limit itself.
export MALLOC_MMAP_THRESHOLD_=262144
# In MB: V8 lets the garbage of a long batch grow beyond this for the rest of its life, and is no faster for it.
exec "$node" --max-semi-space-size=16 "$here/start.js" "$@"
