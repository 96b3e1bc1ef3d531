#!/bin/sh
# Starts kg-mcp. Nothing is fetched in its place: a package of its name in a registry may be anybody's.
PATH=$PATH${HOME:+:$HOME/.local/bin:$HOME/.cargo/bin}
command -v kg-mcp >/dev/null && exec kg-mcp "$@"
echo "error: kg-mcp is neither on the path nor in ~/.local/bin or ~/.cargo/bin" >&2
echo "hint: install kgd; its page on installing says how" >&2
exit 1
