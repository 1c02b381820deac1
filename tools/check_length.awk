# SPDX-License-Identifier: Apache-2.0
#
# awk -f check_length.awk FILE...: files have at most 800 lines and functions at most 70, counted from the line of the
# opening brace to the closing one. Works on clang-formatted C: a function body opens on a line that does not begin
# with a blank and ends in ") {", and closes with a brace in the first column. Tables are exempt because they are
# not functions; a file that is a table says so with `check_length: table` in its head.

function file_done() {
    if (path != "" && n_lines > 800 && !table) {
        printf "%s: %d lines, at most 800\n", path, n_lines
        bad = 1
    }
    n_lines = 0
    table = 0
    open_line = 0
}

FNR == 1 {
    file_done()
    path = FILENAME
}
{ n_lines = FNR }
FNR <= 12 && /check_length: table/ { table = 1 }
/^[^ \t#\/}].*\) \{$/ || /^    .*\) \{$/ && !open_line && signature {
    open_line = FNR
    n_functions++
}
# A signature may run over several lines: its first begins in column one and ends in a comma or an open parenthesis.
{ signature = (/^[A-Za-z].*[,(]$/ || (signature && /^    .*,$/)) }
/^\}/ {
    if (open_line && FNR - open_line + 1 > 70) {
        printf "%s:%d: a function of %d lines, at most 70\n", FILENAME, open_line, FNR - open_line + 1
        bad = 1
    }
    open_line = 0
}
END {
    file_done()
    if (!bad) {
        printf "lengths hold: %d functions\n", n_functions
    }
    exit bad
}
