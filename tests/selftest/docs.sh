#!/bin/sh
# tools/docs/check.py and run.py on documents with one thing wrong each: both must find it, and nothing else.
#
#   docs.sh SCRATCH
set -u
command -v python3 > /dev/null || { echo "docs-selftest: skipped, there is no python3"; exit 0; }
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
rm -rf "$1" && mkdir -p "$1/tools/docs" "$1/mk" "$1/build" && cd "$1" || exit 2
echo 'all: tilevm' > Makefile
printf 'check-docs check: all\nFILES := a\n' > mk/more.mk
printf '%s\n' '# a comment' 'Nvidia => NVIDIA' 'in order to => to' > tools/words.txt
echo 'nvcc --enable-tile' > tools/docs/options.txt
# The commands: an overview, the help of a command, and something to run.
cat > build/tilevm << 'END'
#!/bin/sh
case "$*" in
--help) printf 'usage\n\ncommands:\n  run   run a kernel\n  help  show help\n\nmore\n' ;;
"help run") printf '  -g, --grid N   the grid\n' ;;
"help help") printf '  -a, --all   all\n' ;;
run) printf 'ran 3 blocks\nafter 17 ms\ndone\n' ;;
*) echo "cannot: $*"; exit 2 ;;
esac
END
printf '#!/bin/sh\necho "  --opt-level N"\n' > build/tileiras
chmod +x build/tilevm build/tileiras
passed=0
failed=0
# finds SCRIPT STATUS WORDS [TEXT]: what the script says of a document with that text, or that of standard input.
finds() {
    if [ $# -gt 3 ]; then printf "$4\\n" > document.md; else cat > document.md; fi
    if [ "$1" = check ]; then
        python3 "$tools/docs/check.py" build/tilevm build/tileiras document.md > out 2>&1
    else
        python3 "$tools/docs/run.py" build scratch document.md > out 2>&1
    fi
    if [ $? -eq "$2" ] && { [ -z "$3" ] || grep -qF -e "$3" out; } && [ "$2" -eq 0 -o "$(grep -c '^document.md:' out)" -eq 1 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'expected status %s and: %s\n' "$2" "$3"
        sed 's/^/    /' out
    fi
}
finds check 0 '' << 'END'
# A `title`: with marks

[Here](#a-title-with-marks), [there](document.md#more) and [outside](https://example.org/x#y), [a file](mk/more.mk).

Run `make check-docs`, `V=1 make all CC=gcc`, `make -C other nothing` and `tilevm run --grid 4 | tilevm help`.
NVIDIA's `Nvidia` takes `--enable-tile`, `--opt-level` and `--all`.

```sh
tilevm run -g 4   # in order to run
```

| a row of a table may be as long as it needs to be, since it cannot be broken: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx |

## More
END
finds check 1 'document.md:1: there is no none.md' 'See [this](none.md).'
finds check 1 'document.md has no heading for #none' 'See [this](#none).'
finds check 1 'there is no none.svg' 'See <img src="none.svg">.'
finds check 1 "there is no target 'make nothing'" 'Run `make nothing`.'
finds check 1 "there is no target 'make chek'" 'Run `make FILES`, `make chek`.'
finds check 1 "there is no command 'tilevm walk'" 'Run `tilevm walk`.'
finds check 1 "document.md:2: 'tilevm run' has no option --gird" '```sh\nx=1 tilevm run --gird 4\n```\n'
finds check 1 'no program has the option --nothing' 'The option `--nothing` is not there.'
finds check 1 "'In order to': write to" 'In order to run'
finds check 1 "'Nvidia': write NVIDIA" 'A Nvidia device'
finds check 1 'columns, more than 120' "$(seq -s ' ' 100)"

finds run 0 'examples of documents: 4 passed' << 'END'
<!-- run -->
```console
$ tilevm run
ran 3 blocks
after ... ms
done
$ cat > file << EOT
> some text
> EOT
$ tilevm run | cat - file
ran ...
...
some text
```

<!-- run exit=2 -->
```console
$ tilevm walk
cannot: walk
```

```console
$ this one is not run
```
END
finds run 1 'document.md:3: $ tilevm run' '<!-- run -->\n```console\n$ tilevm run\nran 3 blocks\nafter 17 ms\n```\n'
finds run 1 'exit status 2, not 0' '<!-- run -->\n```console\n$ tilevm walk\ncannot: walk\n```\n'
echo "docs-selftest: $passed passed, $failed failed"
[ $failed -eq 0 ]
