#!/bin/sh
# Checks the units beside this script. `systemd-analyze verify` exits 0 on unknown keys, so whatever it prints is
# a failure. Without systemd-analyze the check is skipped, and says so.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if ! command -v systemd-analyze >/dev/null 2>&1; then
    echo "SKIPPED systemd/verify.sh: systemd-analyze is not installed"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A user's manager has one; a build machine need not.
mkdir -m 700 "$work/run"
export XDG_RUNTIME_DIR="$work/run"

# verify UNIT...: prints what is wrong, and fails if anything is.
verify() {
    systemd-analyze verify --user "$@" >"$work/said" 2>&1 || echo "systemd-analyze failed" >>"$work/said"
    if [ -s "$work/said" ]; then
        cat "$work/said"
        return 1
    fi
}

# The daemon need not be installed where its units are checked.
instance=$(systemd-escape --path "/home/kim/my notes")
mkdir "$work/units"
sed -E 's/^(ExecStart|ExecReload)=:%h\/.cargo\/bin\/(kgd|kgctl)/\1=:\/bin\/true/' "$here/kgd@.service" >"$work/units/kgd@$instance.service"
cp "$here/kgd@.socket" "$work/units/kgd@$instance.socket"
if grep -q '%h/.cargo' "$work/units/kgd@$instance.service"; then
    echo "FAILED systemd/verify.sh: ExecStart is not what this script expects"
    exit 1
fi
if ! verify "$work/units/kgd@$instance.service" "$work/units/kgd@$instance.socket"; then
    echo "FAILED systemd/verify.sh"
    exit 1
fi

# The check itself must be alive: a misspelt key has to be noticed.
mkdir "$work/misspelt"
sed 's|^Restart=|Restrat=|' "$work/units/kgd@$instance.service" >"$work/misspelt/kgd@$instance.service"
if verify "$work/misspelt/kgd@$instance.service" >/dev/null; then
    echo "FAILED systemd/verify.sh: a misspelt key was not noticed"
    exit 1
fi
echo "ok systemd/verify.sh: kgd@.service, kgd@.socket"
