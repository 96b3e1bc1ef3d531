#!/bin/sh
# Tells an agent whose session starts what kgd knows of the folder, and starts the daemon, so that the first question
# need not wait for it. Silent where kgctl is not installed, and in a folder that is in no project.
PATH=$PATH${HOME:+:$HOME/.local/bin:$HOME/.cargo/bin}
command -v kgctl >/dev/null || exit 0
cd "${CLAUDE_PROJECT_DIR:-.}" 2>/dev/null || exit 0

if status=$(kgctl status --here 2>/dev/null) && [ -n "$status" ]; then
    printf 'kgd has an index of documents here: %s\n' "$(printf %s "$status" | head -n 1)"
    echo "Ask its tools (hybrid_query, ask, explain_entity, connect) before you answer from memory or read many files,"
    echo "and keep decisions with remember. The skill kgd:knowledge says when."
fi
exit 0
