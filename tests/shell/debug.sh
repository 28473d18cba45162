#!/bin/bash
# `tilevm debug` with what fixtures cannot give: a terminal, ^C, a port, and messages that come while a kernel runs;
# ends with `debug: N passed, N failed`.
#
#   debug.sh BUILD FOLDER      BUILD has tilevm; FOLDER is made
set -u
. "$(dirname "$0")/says.sh"
tilevm=$(cd "$1" && pwd)/tilevm
rm -rf "$2" && mkdir -p "$2" && cd "$2" || exit 2
export NO_COLOR=1

spinning_kernel spin.tir
run 0 "$tilevm" asm spin.tir -o spin.tbc

# ---- ^C stops the kernel, and the debugger goes on ----
mkfifo commands
"$tilevm" debug spin.tbc --grid 1 < commands > out 2>&1 &
debugger=$!
exec 5> commands
echo continue >&5
sleep 1
kill -INT $debugger
sleep 0.5
echo 'print %loopIdx > 1000' >&5
echo quit >&5
exec 5>&-
wait $debugger
says "interrupted: tile block (0, 0, 0)"
says "(tilevm) print %loopIdx > 1000
1"

# ---- a port: loopback, and a token ----
serve() {
    rm -f told
    "$tilevm" debug spin.tbc --grid 1 --dap-port 0 2> told &
    server=$!
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -q listening told 2> /dev/null && break
        sleep 0.2
    done
    port=$(sed -n 's/^listening on 127.0.0.1:\([0-9]*\)$/\1/p' told)
    token=$(sed -n 's/^token: \([0-9a-f]*\)$/\1/p' told)
}
send() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1" >&3; }
request() { send "{\"seq\":$1,\"type\":\"request\",\"command\":\"$2\",\"arguments\":${3:-{\}}}"; }

serve
exec 3<> "/dev/tcp/127.0.0.1/$port"
request 1 launch '{"token":"00000000000000000000000000000000"}'
timeout 20 cat <&3 > out
exec 3>&-
wait $server
says '"success":false,"command":"launch","message":"the token is missing or wrong'

serve
exec 3<> "/dev/tcp/127.0.0.1/$port"
request 1 launch "{\"token\":\"$token\"}"
request 2 configurationDone
sleep 1
request 3 threads
request 4 pause
sleep 0.5
request 5 evaluate '{"expression":"%loopIdx > 1000"}'
request 6 continue
sleep 0.5
request 7 disconnect
timeout 20 cat <&3 > out
exec 3>&-
wait $server
says '"command":"configurationDone"'
says '"command":"threads","body":{"threads":[{"id":1'
says '"event":"stopped","body":{"reason":"pause"'
says '"command":"evaluate","body":{"result":"1"'
says '"event":"terminated"'

# ---- a terminal: a prompt, an empty line repeats, history is kept ----
if command -v script > /dev/null; then
    printf 'stepi\n\nprint time\nquit\n' > typed
    TERM=dumb TILEVM_HISTORY=$PWD/history timeout 30 \
        script -qec "'$tilevm' debug spin.tbc --grid 1" /dev/null < typed > out 2>&1
    says "time 1"
    says "time 2"
else
    echo "debug: skipped, there is no script: terminals"
fi

echo "debug: $passed passed, $failed failed"
[ $failed -eq 0 ]
