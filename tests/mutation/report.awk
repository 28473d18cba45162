# survivors.txt, the list of faults and the results, as they are in run.sh: prints the survivors and the counts.
FILENAME == ARGV[1] {
    if (/^[a-z].*\.c: /) { file = $0; sub(/: .*/, "", file) }
    if (/^- /) before = substr($0, 3)
    if (/^\+ /) reason[file "\t" before "\t" substr($0, 3)] = 1
    next
}
FILENAME == ARGV[2] { listed[$0] = 1; next }
{
    fault = substr($0, length($1) + 2)
    if (!(fault in listed)) next
    outcome = $1
    sub(/ by.*/, "", outcome)
    count[outcome]++
    if (outcome != "survived") next
    if (($2 "\t" $5 "\t" $6) in reason) { explained++; next }
    printf "%s:%s: survived\n    - %s\n    + %s\n", $2, $3, $5, $6
}
END {
    tried = count["killed"] + count["survived"]
    printf "mutation: %d tried, %d killed, %d survived, %d of them for a reason; %d not compiled, %d the same code\n", \
        tried, count["killed"], count["survived"], explained, count["invalid"] + count["unbuilt"], count["same code"]
    exit count["survived"] > explained
}
