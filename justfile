# What a contributor does. `just --list` shows the recipes; CONTRIBUTING.md explains them.

# One build for programs and tests, so that no dependency is compiled twice.
export CARGO_PROFILE_DEV_DEBUG := "0"

# Build all programs and tests.
build:
    cargo build --locked --workspace --bins --tests

# Run the tests, or those whose name matches FILTER.
test FILTER='': build
    cargo nextest run --locked --workspace -E 'test({{ if FILTER == "" { "/./" } else { FILTER } }})'

# Rewrite generated pages and golden files.
regenerate: build
    KG_REGENERATE=1 cargo nextest run --locked --workspace -E 'test(/the_(committed_)?reference(_of_(tools|commands))?_is_current/) | test(/^docs::the_help/) | test(/^replies::replies_are/)'

# Make all packages of a release in target/packages: `--programs DIR` takes programs that were built before.
dist *OPTIONS:
    python3 config/dist/build.py {{ OPTIONS }}

# Install those packages in scratch folders, and ask each as an agent would. As root, `--debian DIR` tries the .deb.
try *OPTIONS:
    python3 config/dist/try.py {{ OPTIONS }}

# Show the documentation in a browser.
docs:
    mdbook serve docs --open

# Everything that is checked before a merge.
ci:
    bash .ci/run
