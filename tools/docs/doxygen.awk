# Filters a public header for Doxygen: plain comments become documentation. A comment on lines of its own is about what follows, one
# behind a declaration about that; the first one is about the file. Lines "   name   text" in a comment become a list.

# The comment's text from here on; a field, or its further lines, as an item of a list.
function put(text) {
    if (match(text, /^   [^ ]+(, [^ ]+)*  +[^ ]/)) {
        name = substr(text, 4)
        sub(/  +.*/, "", name)
        rest = substr(text, RLENGTH)
        print "- **" name "** " rest
        in_field = 1
    } else if (in_field && text ~ /^      /) {
        sub(/^ +/, "  ", text)
        print text
    } else {
        in_field = 0
        sub(/^   /, "", text)
        print text
    }
}
/^ *\/\* -----* / || /^\/\* ---- / { next } # the heading of a section
!inside && /^ *\/\* / {
    sub(/\/\* /, first++ ? "/** " : "/** @file\n")
    if ($0 ~ /\*\/ *$/) {
        print
    } else {
        inside = 1
        in_field = 0
        print
    }
    next
}
inside {
    if ($0 ~ /\*\/ *$/)
        inside = 0
    put($0)
    next
}
# Prints a line; `TYPE a, b; COMMENT` as one line for each name, all but the last with a short comment: it is about all of them.
function put_declaration(line,    comment, names, type, count, i, at) {
    at = match(line, /; +\/\*\*< /)
    if (at && line !~ /\(/ && (count = split(substr(line, 1, at - 1), names, ", ")) > 1) {
        comment = substr(line, at + RLENGTH - 5)
        type = names[1]
        sub(/[*A-Za-z0-9_]+$/, "", type)
        for (i = 1; i < count; i++)
            print (i > 1 ? type : "") names[i] "; /**< see " last_word(names[count]) " */"
        line = type names[count] "; " comment
    }
    print line
}
function last_word(text) {
    sub(/^.*[ *]/, "", text)
    return text
}
/[^ ].*\/\* / && !/^#/ {
    sub(/\/\* /, "/**< ")
    put_declaration($0)
    if ($0 !~ /\*\/ *$/)
        trailing = 1
    next
}
/^#define.*\/\* / { sub(/ *\/\*.*\*\//, "") }
{ print }
