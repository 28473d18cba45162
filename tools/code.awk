# A line of C as code, for sizes.awk and argument_order.awk. in_comment is set to 0 at the start of a file.

# The line without comments and texts; one that goes on in the next line is remembered.
function code_of(line,    out, at) {
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            if (!at)
                return out
            line = substr(line, at + 2)
            in_comment = 0
        } else if (match(line, /\/\*|\/\/|"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/)) {
            out = out substr(line, 1, RSTART - 1) " "
            if (substr(line, RSTART, 2) == "//")
                return out
            in_comment = substr(line, RSTART, 2) == "/*"
            line = substr(line, RSTART + (in_comment ? 2 : RLENGTH))
        } else {
            return out line
        }
    }
    return out
}
