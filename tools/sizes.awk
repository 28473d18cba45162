# Sizes of functions and files, for tools/check_sizes.sh. The sources are laid out by clang-format: the body of a function is
# between { and } in the first column. Lines are those from its head to its end; branches are if, for, while, case, &&, ||
# and ? outside of comments, texts and the preprocessor.
#
# Prints `function FILE NAME LINES BRANCHES` and `file FILE LINES`.

function branches_of(code,    n) {
    n = gsub(/&&|\|\||\?/, " ", code)
    code = " " code " "
    return n + gsub(/[^A-Za-z0-9_](if|for|while|case)[^A-Za-z0-9_]/, " ", code)
}
function end_file() {
    if (name_of_file != "")
        print "file", name_of_file, lines_of_file
}
FNR == 1 {
    end_file()
    name_of_file = FILENAME
    in_comment = in_macro = inside = head = 0
}
{
    lines_of_file = FNR
    in_macro = (in_macro || /^#/) && !in_comment
    code = in_macro ? "" : code_of($0)
    in_macro = in_macro && /\\$/
}
inside {
    branches += branches_of(code)
    if (/^}/) {
        print "function", FILENAME, name, FNR - head + 1, branches
        inside = head = 0
    }
    next
}
/^\{/ && head {
    inside = 1
    branches = 0
    next
}
# A head begins in the first column and is not over at the end of the line.
/^[A-Za-z_].*[;}]$/ || /^[A-Za-z_].*\{$/ || /^#/ || /^$/ { head = 0; next }
/^[A-Za-z_]/ && match(code, /[A-Za-z_0-9]+\(/) {
    head = FNR
    name = substr(code, RSTART, RLENGTH - 1)
}
END { end_file() }
