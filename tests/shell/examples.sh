#!/bin/sh
# The files of examples/, .github/ and .pre-commit-hooks.yaml: parsed, and their commands run; ends with
# `examples: N passed, N failed`.
#
#   examples.sh BUILD FOLDER      BUILD has tilevm and fakecuda/libcuda.so.1; FOLDER is made
set -u
. "$(dirname "$0")/says.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
tests=$top/tests
rm -rf "$2" && mkdir -p "$2" && cd "$2" || exit 2
export PATH="$build:$PATH" HOME="$PWD" NO_COLOR=1 GIT_CONFIG_NOSYSTEM=1 TILEVM_PTXAS=none
unset TILEVM_CACHE_DIR TILEVM_CACHE_LOWER TILEVM_IMAGE TILEVM_BUNDLE_KEY TILEVM_BUNDLE_TRUST
yaml() {
    python3 "$tests/shell/yaml_parts.py" "$@"
}

# A repository of kernels, one of them not as expected, one that breaks a rule.
mkdir good bad
echo 'cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %x = constant <i32: 7> : tile<i32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
} }' > k.tir
tilevm asm k.tir -o good/k.tbc && cp good/k.tbc bad/k.tbc || exit 2
head -c 40 good/k.tbc > bad/cut.tbc
echo '{"grid": 1, "args": ["zeros(i32,1)"], "expect": {"a": "values(i32,[7])"}}' > good/k.args.json
echo '{"grid": 1, "args": ["zeros(i32,1)"], "expect": {"a": "values(i32,[8])"}}' > bad/k.args.json
tilevm bundle build good/k.tbc -t sm_80 -e ptx -o app.tvb > /dev/null
echo '{"schema": "tilevm-fleet/1", "hosts": [{"name": "a", "gpu": "A100", "drivers": "12.4"}]}' > fleet.json
sed 's/A100/V100/' fleet.json > old.json

# ---- CI ----
run 0 sh -n "$top/examples/ci/pre-commit"
if command -v git > /dev/null; then
    mkdir repository && (cd repository && git init -q . && cp "$top/examples/ci/pre-commit" .git/hooks/pre-commit \
        && git config user.name n && git config user.email e) || exit 2
    cp good/* repository
    run 0 sh -c 'cd repository && git add -A && git commit -qm good'
    cp bad/* repository
    run 123 sh -c 'cd repository && git add k.args.json && .git/hooks/pre-commit'
    says 'FAIL  k.args.json'
    run 1 sh -c 'cd repository && git reset -q && git add cut.tbc && git commit -qm bad'
    says 'cut.tbc:0x'
else
    echo "examples-git: skipped, git is not installed"
fi
if python3 -c 'import yaml' 2> /dev/null; then
    export FLEET=fleet.json BUNDLE=app.tvb
    for file in "$top"/.pre-commit-hooks.yaml "$top"/.github/workflows/*.yml "$top"/.github/ISSUE_TEMPLATE/*.yml $(find "$top/examples" -name '*.y*ml'); do
        run 0 yaml check "$file"
    done
    run 0 test "$(yaml github "$top/.github/workflows/ci.yml" check)" = .ci/run -a -x "$top/.ci/run"
    for file in "$top"/.github/ISSUE_TEMPLATE/*.md; do
        run 0 yaml template "$file"
    done
    workflow=$top/.github/workflows/check-kernels.yml
    for step in verify test fleet; do
        yaml github "$workflow" $step > $step.sh
        run 0 env KERNELS=good TESTS=good bash -e $step.sh
        run 1 env KERNELS=bad TESTS=bad FLEET=old.json bash -e $step.sh
    done
    run 0 test -s reports/verify.sarif -a -s reports/test.xml -a -s reports/fleet.sarif
    yaml gitlab "$top/examples/ci/gitlab.yml" .tilevm > gitlab.sh
    run 0 env KERNELS=good TESTS=good bash -e gitlab.sh
    run 1 env KERNELS=bad TESTS= bash -e gitlab.sh
    run 1 env KERNELS=good TESTS=bad bash -e gitlab.sh
    run 1 env KERNELS=good TESTS=good FLEET=old.json bash -e gitlab.sh
    yaml hooks "$top/.pre-commit-hooks.yaml" > hooks
    while read -r id entry; do
        case $id in
        tilevm-verify) file=k.tbc wrong=cut.tbc ;;
        tilevm-races) continue ;; # below
        *) file=k.args.json wrong=k.args.json ;;
        esac
        run 0 $entry good/$file
        run 1 $entry bad/$wrong
    done < hooks
else
    echo "examples-yaml: skipped, python3 has no yaml"
fi
# Races in cuTile kernels, by the workflow and the hook.
if python3 -c 'import cuda.tile, numpy, pytest, yaml' 2> /dev/null; then
    mkdir -p races/good races/bad
    for kind in good bad; do
        at=$([ $kind = good ] && echo 'ct.bid(0)' || echo 0)
        printf 'import cuda.tile as ct\nimport numpy as np\n\n\n@ct.kernel\ndef k(x, y):\n    ct.store(y, (%s,), ct.load(x, (ct.bid(0),), (16,)))\n\n\ndef test_k():\n    ct.launch(0, (2,), k, (np.ones(32, np.float32), np.zeros(32, np.float32)))\n' "$at" > races/$kind/test_k.py
    done
    yaml github "$top/.github/workflows/check-races.yml" races > races.sh
    export PYTHONPATH="$top/tools/python" TILEVM_LIBRARY="$build/libtilevm.so" PYTHONDONTWRITEBYTECODE=1
    hook=$(sed -n 's/^tilevm-races //p' hooks)
    run 0 env TESTS=races/good CHECKS=races ARCH=sm_90 bash -e races.sh
    run 1 env TESTS=races/bad CHECKS=races ARCH=sm_90 GITHUB_ACTIONS=true bash -e races.sh
    says '::error file=races/bad/test_k.py,line=7,title=X-RAC-01::'
    run 0 grep -q '"uri": "races/bad/test_k.py"' reports/races.sarif
    run 0 sh -c "cd races/good && $hook"
    run 1 sh -c "cd races/bad && $hook"
    unset PYTHONPATH TILEVM_LIBRARY
else
    echo "examples-races: skipped, python3 has no cuda-tile, numpy, pytest or yaml"
fi
# What others know of these forms, where it is installed.
linted() {
    if command -v "$1" > /dev/null; then
        run 0 "$@"
    else
        echo "examples-$1: skipped, $1 is not installed"
    fi
}
linted hadolint "$top/examples/container/Dockerfile"
linted actionlint "$top"/.github/workflows/*.yml
linted check-jsonschema -q --builtin-schema vendor.github-workflows "$top"/.github/workflows/*.yml
linted check-jsonschema -q --builtin-schema vendor.gitlab-ci "$top"/examples/ci/gitlab*.yml
linted kubernetes-validate --strict "$top"/examples/kubernetes/*.yaml
# The hooks as a repository of kernels has them, from this one.
if command -v pre-commit > /dev/null && git -C "$top" rev-parse HEAD > /dev/null 2>&1; then
    git init -q hooked && cp good/* hooked && git -C hooked add -A || exit 2
    run 0 pre-commit validate-manifest "$top/.pre-commit-hooks.yaml"
    run 0 sh -c 'cd hooked && pre-commit try-repo "$1" --all-files' sh "$top"
    says 'check Tile IR bytecode against every rule'
    cp bad/cut.tbc hooked && git -C hooked add -A
    run 1 sh -c 'cd hooked && pre-commit try-repo "$1" tilevm-verify --all-files' sh "$top"
    says 'cut.tbc:0x'
else
    echo "examples-pre-commit: skipped, pre-commit is not installed, or this is no checkout of git"
fi

# ---- CUDA Tile C++ ----
# nvcc with tiles, from CUDA_HOME or PATH: the toolkit's folder, or nothing.
find_cuda() {
    for folder in "${CUDA_HOME:-}" "$(dirname "$(dirname "$(command -v nvcc || echo /none/bin/nvcc)")")"; do
        [ -x "$folder/bin/nvcc" ] && "$folder/bin/nvcc" --help 2> /dev/null | grep -q -e --enable-tile && echo "$folder" && return
    done
}
cuda=$(find_cuda)
# The jobs for CI: with that nvcc, else with one that has compiled the kernel already.
mkdir -p cpp none/bin
cp good/k.tbc none/k.tbc
printf 'echo "$*" > %s/nvcc.txt\nfor last; do :; done\ncp %s/none/k.tbc "$last"\n' "$PWD" "$PWD" > none/nvcc.sh
printf '#!/bin/sh\n. %s/none/nvcc.sh\n' "$PWD" > none/bin/nvcc
chmod +x none/bin/nvcc
printf '#include <cuda_tile.h>\n__tile_global__ void k(int *p)\n{\n    p[0] = 7;\n}\n' > cpp/k.cu
cp good/k.args.json cpp/k.args.json
if python3 -c 'import yaml' 2> /dev/null; then
    workflow=$top/.github/workflows/check-cpp.yml
    for step in compile verify test; do
        yaml github "$workflow" $step > $step.sh
    done
    yaml gitlab "$top/examples/ci/gitlab-cpp.yml" .tilevm-cpp > gitlab-cpp.sh
    export KERNELS=cpp ARCH=sm_90 FLAGS=-lineinfo
    for toolkit in "$PWD/none" $cuda; do
        for script in compile verify test gitlab-cpp; do
            run 0 env CUDA_HOME="$toolkit" bash -e $script.sh
        done
        cp bad/k.args.json cpp/k.args.json
        run 1 env CUDA_HOME="$toolkit" bash -e test.sh
        run 1 env CUDA_HOME="$toolkit" bash -e gitlab-cpp.sh
        cp good/k.args.json cpp/k.args.json
    done
    run 0 grep -q -e '--enable-tile --tile-only --tilebc -std=c++20 -arch sm_90 -lineinfo cpp/k.cu -o cpp/k.tbc' nvcc.txt
    unset KERNELS ARCH FLAGS
fi
# The project, by make and by CMake: built with our tileiras, looked at without a GPU.
command -v shellcheck > /dev/null && run 0 shellcheck -s sh "$top/examples/cpp/toolchain.sh"
run 1 env CUDA_HOME="$PWD/nothing" sh "$top/examples/cpp/toolchain.sh" toolchain
run 1 env CUDA_HOME="$PWD/none" TILEIRAS=no-tileiras sh "$top/examples/cpp/toolchain.sh" toolchain
says 'there is no no-tileiras'
if [ -n "$cuda" ]; then
    cp -R "$top/examples/cpp" project
    run 0 env -u TILEVM_PTXAS make -C project check CUDA_HOME="$cuda"
    says 'c: as expected'
    says 'nothing found in 4 tile blocks'
    run 0 tilevm extract --list --all project/build/app
    says 'cubin 3 (sm_90)'
    says 'image 1 (sm_90)'
    # The program for this device, for another one, and for none, on a driver that knows no Tile IR.
    for arch in sm_90 sm_100 compute_90; do
        run 0 "$cuda/bin/nvcc" --enable-tile -std=c++20 -arch $arch -cudart none -c project/app.cu -o app.o
        run 0 c++ app.o "$build/obj/tests/fakecuda/runtime.o" -ldl -pthread -o app
        run 0 env LD_LIBRARY_PATH="$build/fakecuda" LD_PRELOAD="$build/libtilevm_cuda.so" FAKECUDA_DEVICES=80 FAKECUDA_RUN=1 ./app
        says '0 of 400 numbers are wrong'
    done
    run 1 env LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_RUN=1 ./app
    if command -v cmake > /dev/null; then
        run 0 env -u TILEVM_PTXAS cmake -S project -B cmake -DCUDA_HOME="$cuda"
        run 0 env -u TILEVM_PTXAS cmake --build cmake
        run 0 ctest --test-dir cmake
        says '100% tests passed'
    else
        echo "examples-cmake: skipped, cmake is not installed"
    fi
else
    echo "examples-nvcc: skipped, there is no nvcc with --enable-tile (CUDA_HOME names its toolkit)"
fi
# From NVRTC through the library.
run 0 "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$top/include" "$top/examples/nvrtc/nvrtc.c" -L"$build" -ltilevm -ldl -o nvrtc
ln -s "$build/libtilevm.so" libtilevm.so.0
LD_LIBRARY_PATH=. NVRTC=${NVRTC:-$(find "$cuda/" -name 'libnvrtc.so.1[3-9]' 2> /dev/null | head -n 1)} ./nvrtc > out 2>&1
case $? in
77) echo "examples-nvrtc: skipped, $(cat out)" ;;
*)
    says '_Z3addPKfS0_Pfi: '
    says 'the sums are right'
    ;;
esac
run 77 env LD_LIBRARY_PATH=. NVRTC=./nvrtc ./nvrtc

# ---- containers and clusters, on the fake driver ----
export LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_DEVICES=90,80 BUNDLE=app.tvb FLEET=fleet.json
tilevm bundle build good/k.tbc -e bytecode -o plain.tvb > /dev/null
for script in "$top"/examples/slurm/*; do
    run 0 sh -n "$script"
done
command -v shellcheck > /dev/null && run 0 shellcheck -s sh "$top"/examples/slurm/* "$top/examples/ci/pre-commit"
# Slurm: shares of the files, each kernel once, nothing done twice.
mkdir kernels shared
for i in 1 2 3 4 5; do
    sed "s/@k(/@k$i(/" k.tir > k$i.tir && tilevm asm k$i.tir -o kernels/k$i.tbc
done
array() {
    for task in 0 1 2; do
        SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=3 KERNELS=kernels OUT=shared TARGETS=sm_80,sm_90 \
            sh "$top/examples/slurm/build.sbatch" || return 1
    done
}
run 0 array
says 'shared/part-0-of-3.tvb: 2 kernels in 2 modules for 2 targets'
says 'shared/part-2-of-3.tvb: 1 kernel in 1 module for 2 targets'
run 0 array
silent 'kernels'
touch -d '1 minute' kernels/k2.tbc
run 0 array
says 'shared/part-1-of-3.tvb'
silent 'shared/part-0-of-3.tvb'
run 0 env OUT=shared BUNDLE=joined.tvb sh "$top/examples/slurm/join.sbatch"
says 'joined.tvb: 5 kernels in 5 modules for 2 targets'
says 'joined.tvb: sound'
run 0 tilevm bundle build kernels -t sm_80,sm_90 -o one.tvb
run 0 cmp joined.tvb one.tvb
echo broken > shared/broken.tvb
run 0 env BUNDLES=shared TILEVM_CACHE_DIR="$PWD/node" sh "$top/examples/slurm/prolog.sh"
says 'cuda:0, No GPU 0 (sm_90): 2 kernels loaded'
says 'cuda:1, No GPU 1 (sm_80): 2 kernels loaded'
says '[L-BUNDLE-01]'
# A layer below that is only read: what the node compiled is not compiled again.
run 0 env TILEVM_CACHE_DIR="$PWD/layer" TILEVM_IMAGE=cubin tilevm cache warm plain.tvb --device all
run 0 env TILEVM_CACHE_DIR="$PWD/own" TILEVM_CACHE_LOWER="$PWD/layer" TILEVM_IMAGE=cubin tilevm cache warm plain.tvb
run 0 test ! -e own
run 0 env TILEVM_CACHE_DIR="$PWD/own" TILEVM_IMAGE=cubin tilevm cache warm plain.tvb
run 0 test -d own
if python3 -c 'import yaml' 2> /dev/null; then
    mkdir k8s pod
    for kind in DaemonSet Deployment; do
        file=$(grep -l "kind: $kind" "$top"/examples/kubernetes/*)
        yaml kubernetes "$file" $kind | sed -e "s|/opt/app|$PWD|" -e "s|/cache/own|$PWD/pod|" -e "s|=/node-cache|=$PWD/k8s|" > pod.sh
        run 0 env FAKECUDA_RUN=1 sh -e pod.sh
        says 'cuda:1, No GPU 1 (sm_80): 1 kernel loaded'
    done
fi
# The commands of the image.
openssl genpkey -algorithm ed25519 -out private.pem 2> /dev/null && openssl pkey -in private.pem -pubout -out public.pem \
    && tilevm bundle sign -k private.pem app.tvb
grep '^RUN tilevm' "$top/examples/container/Dockerfile" | sed -e 's/^RUN //' -e "s|/opt/app|$PWD|g" > image.sh
run 0 test "$(wc -l < image.sh)" -eq 2
command -v openssl > /dev/null && run 0 sh -e image.sh
run 0 env TILEVM_CACHE_DIR="$PWD/image" $(sed -n 's/^CMD \[\(.*\)\]/\1/p' "$top/examples/container/Dockerfile" | tr -d '",' | sed "s|/opt/app|$PWD|")
unknown=$(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$top/examples/container/Dockerfile" \
    | grep -v -E '^(#|$|FROM|RUN|COPY|ENV|USER|HEALTHCHECK|CMD) ?')
run 0 test -z "$unknown"
# The unit, with programs that are here.
if command -v systemd-analyze > /dev/null; then
    sed "s|/usr/local/bin/tilevm|$build/tilevm|" "$top/examples/systemd/tilevm-warm.service" > tilevm-warm.service
    run 0 systemd-analyze verify "$PWD/tilevm-warm.service"
else
    echo "examples-systemd: skipped, systemd-analyze is not installed"
fi

printf 'examples: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
