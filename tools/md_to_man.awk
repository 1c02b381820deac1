# SPDX-License-Identifier: Apache-2.0
#
# A page of docs/man/*.1.md as a manual page for man(1): its title, headings, paragraphs, code by indent or fence, and
# **bold**; nothing else of Markdown is used there.
function escape(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    gsub(/'/, "\\(aq", s)
    sub(/^\./, "\\\\\\&.", s)
    return s
}

function code(begin) {
    if (begin && !in_code) {
        print ".PP\n.RS 4\n.nf"
    } else if (!begin && in_code) {
        print ".fi\n.RE"
    }
    in_code = begin
    blank = 0
}

/^% / && NR == 1 {
    title = $2
    sub(/\(1\)$/, "", title)
    print ".TH " title " 1"
    next
}
/^```/ {
    fenced = !fenced
    code(fenced)
    next
}
fenced {
    print escape($0)
    next
}
/^    / {
    if (in_code && blank) {
        print ""
    }
    code(1)
    print escape(substr($0, 5))
    next
}
/^$/ {
    blank = 1
    next
}
/^# / {
    code(0)
    print ".SH " escape(substr($0, 3))
    heading = 1
    next
}
{
    if (in_code) {
        code(0)
        blank = 1
    }
    if (blank && !heading) {
        print ".PP"
    }
    blank = heading = 0
    line = escape($0)
    while (match(line, /\*\*[^*]+\*\*/)) {
        line = substr(line, 1, RSTART - 1) "\\fB" substr(line, RSTART + 2, RLENGTH - 4) "\\fR" \
            substr(line, RSTART + RLENGTH)
    }
    gsub(/`/, "", line)
    print line
}
END { code(0) }
