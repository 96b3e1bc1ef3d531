#!/bin/sh
# Starts kg-mcp: the one that is installed, else the one of a package registry.
PATH=$PATH:$HOME/.local/bin:$HOME/.cargo/bin
if command -v kg-mcp >/dev/null; then
    exec kg-mcp "$@"
elif command -v uvx >/dev/null; then
    exec uvx --from kgd-mcp kg-mcp "$@"
elif command -v npx >/dev/null; then
    exec npx -y -p kgd-mcp kg-mcp "$@"
fi
echo "error: kg-mcp is not installed, and neither uvx nor npx is there to fetch it" >&2
exit 1
