# SPDX-License-Identifier: Apache-2.0
#
# awk -f check_layers.awk -v files=LIST layers.txt FILE...
# Checks each #include of a project file against layers.txt. LIST names a file that holds every project file, one a
# line, relative to the repository root, as FILE... are. Prints one line a violation; exit 1 if there was any.

function module_of(path, parts) {
    split(path, parts, "/")
    if (parts[1] == "src") {
        return parts[2]
    }
    if (parts[1] == "include") {
        return "public"
    }
    return parts[1]
}

function folder_of(path) {
    sub(/\/[^\/]*$/, "", path)
    return path
}

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

# Where an include of `name` in `file` leads: beside it, under src/, under include/, or the generated header.
function resolve(file, name) {
    if ((folder_of(file) "/" name) in known) {
        return folder_of(file) "/" name
    }
    if (("src/" name) in known) {
        return "src/" name
    }
    if (("include/" name) in known) {
        return "include/" name
    }
    return ""
}

BEGIN {
    while ((getline line < files) > 0) {
        known[line] = 1
        n_known++
    }
    if (!n_known) {
        print "check_layers: no files in " files
        bad = 1
        exit 1
    }
}

# ---- the table ----
FILENAME ~ /layers\.txt$/ {
    sub(/#.*/, "")
    if (NF) {
        from = $1
        sub(/:$/, "", from)
        row[from] = 1
        for (i = 2; i <= NF; i++) {
            allowed[from, $i] = 1
        }
    }
    next
}

FNR == 1 {
    n_files++
    from = module_of(FILENAME)
    if (!(from in row)) {
        complain("module '" from "' has no row in tools/layers.txt")
    }
}

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    quoted = $0 ~ /include[ \t]*"/
    name = $0
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*$/, "", name)
    if (name == "eco_build.h") {
        if (from == "public") {
            complain("a public header includes the generated " name)
        }
        next
    }
    target = resolve(FILENAME, name)
    if (target == "") {
        if (quoted) {
            complain("includes \"" name "\", which is not in the repository")
        }
        next
    }
    to = module_of(target)
    header = target
    sub(/^src\//, "", header)
    n_includes++
    if (to != "public" && to != from && !((from, to) in allowed) && !((from, header) in allowed)) {
        complain(from " must not include " header " (tools/layers.txt)")
    }
}

END {
    if (!bad) {
        printf "layers hold: %d files, %d project includes\n", n_files, n_includes
    }
    exit bad
}
