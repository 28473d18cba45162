# Calls with two arguments that emit code, for tools/check_argument_order.sh. C leaves open which argument is computed
# first, so that two compilers of C would make compilers that write different PTX for one kernel. A function emits if its
# name is like `roots`, or if it calls one that emits; a static function is known by its file, too. The sources, laid out
# by clang-format, are given twice: the first time for who calls whom.
#
# Prints `order FILE:LINE: CALLED: FIRST and SECOND`, the last two by the functions that emit; and `right N`, for the
# calls with one such argument.

# How a function that the file calls by that name is known.
function key_of(name) {
    return (FILENAME, name) in is_static ? FILENAME ":" name : name
}
# Finds, from who calls whom, all functions that emit.
function find_emitting(    changed, pair, part) {
    do {
        changed = 0
        for (pair in calls) {
            split(pair, part, SUBSEP)
            if (!(part[1] in emits) && (part[2] in emits || part[2] ~ roots)) {
                emits[part[1]] = 1
                changed = 1
            }
        }
    } while (changed)
    found_emitting = 1
}
function does_emit(name) {
    return key_of(name) in emits || name ~ roots
}
# What emits in an argument, or in parentheses that call nothing, is remembered once a depth of parentheses.
function end_argument(    is_call) {
    is_call = called[depth] != "" && called[depth] !~ /^(if|for|while|switch|return|sizeof)$/
    if (argument[depth] != "" && (is_call || !emitting[depth]))
        emitter[depth, ++emitting[depth]] = argument[depth]
    argument[depth] = ""
}
function end_call(    inner) {
    end_argument()
    if (emitting[depth] > 1)
        print "order " FILENAME ":" FNR ": " called[depth] ": " emitter[depth, 1] " and " emitter[depth, 2]
    else
        right += emitting[depth]
    inner = does_emit(called[depth]) ? called[depth] : emitting[depth] ? emitter[depth, 1] : ""
    depth--
    if (argument[depth] == "")
        argument[depth] = inner
}
# A name or a sign of a function's body.
function take(token) {
    if (token == "(") {
        called[++depth] = before
        emitting[depth] = 0
        argument[depth] = ""
    } else if (token == ")" && depth) {
        end_call()
    } else if (token == "," && depth) {
        end_argument()
    }
    before = token ~ /^[A-Za-z_]/ ? token : ""
}
FNR == 1 {
    is_second = times[FILENAME]++
    in_comment = in_macro = inside = 0
}
is_second && !found_emitting { find_emitting() }
{
    in_macro = (in_macro || /^#/) && !in_comment
    code = in_macro ? "" : code_of($0)
    in_macro = in_macro && /\\$/
}
/^}/ { inside = 0 }
/^\{/ {
    inside = name != ""
    depth = 0
    next
}
!inside && /^[A-Za-z_]/ {
    name = match(code, /[A-Za-z_0-9]+\(/) ? substr(code, RSTART, RLENGTH - 1) : ""
    if (/^static / && !/^static inline /)
        is_static[FILENAME, name]
}
inside {
    while (match(code, /[A-Za-z_][A-Za-z_0-9]*\(?|[^ \t]/)) {
        token = substr(code, RSTART, RLENGTH)
        code = substr(code, RSTART + RLENGTH)
        if (token ~ /^[A-Za-z_].*\($/ && is_second) {
            take(substr(token, 1, length(token) - 1))
            take("(")
        } else if (token ~ /^[A-Za-z_].*\($/) {
            calls[key_of(name), key_of(substr(token, 1, length(token) - 1))] = 1
        } else if (is_second) {
            take(token)
        }
    }
}
END { print "right " right + 0 }
