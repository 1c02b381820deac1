# SPDX-License-Identifier: Apache-2.0
#
# awk -v what=cards|anchors|curves -f gen_data.awk FILE: C initialisers from data/cards.csv, data/anchors.csv or
# data/published/curves.json, on standard output. Numbers go over as they are written. POSIX awk; called by gen_data.sh.

function die(text) {
    printf "gen_data: %s:%d: %s\n", FILENAME, FNR, text >"/dev/stderr"
    failed = 1
    exit 1
}

function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}

function number(text) {
    if (text !~ /^-?[0-9]+(\.[0-9]+)?$/) {
        die("'" text "' is no plain number")
    }
    return text
}

function reading(text) {
    return text == "" ? "{0.0, ECO_ABSENT_NOT_READ}" : "{" number(text) ", ECO_PRESENT}"
}

function basis(text) {
    if (text !~ /^(measured|replayed|estimated)$/) {
        die("'" text "' is no basis of this table")
    }
    return "ECO_BASIS_" toupper(text)
}

# ---- CSV: cells of one line in cell[name]; a quoted cell may hold commas and doubled quotes, no line break ----
function split_line(line, n, text) {
    n = 0
    while (1) {
        n++
        if (substr(line, 1, 1) == "\"") {
            if (!match(line, /^"([^"]|"")*"/)) {
                die("a quote does not end")
            }
            text = substr(line, 2, RLENGTH - 2)
            gsub(/""/, "\"", text)
            line = substr(line, RLENGTH + 1)
        } else {
            match(line, /^[^,]*/)
            text = substr(line, 1, RLENGTH)
            line = substr(line, RLENGTH + 1)
        }
        if (FNR == 1) {
            column[n] = text
        } else {
            cell[column[n]] = text
        }
        if (line == "") {
            break
        }
        if (substr(line, 1, 1) != ",") {
            die("a comma is expected after a cell")
        }
        line = substr(line, 2)
    }
    if (FNR == 1) {
        n_columns = n
    } else if (n != n_columns) {
        die(n " cells, the first line has " n_columns)
    }
}

function need(name) {
    if (!(name in cell)) {
        die("no column " name)
    }
    return cell[name]
}

what == "cards" {
    split_line($0)
    if (FNR > 1) {
        split(need("cc"), cc, ".")
        printf "{%s,\n {%s, %s, %s, %s, %s, %s, %s, %s, %s,\n  %s}},\n", quoted(need("pattern")), quoted(need("name")),
            quoted(need("family")), number(cc[1]), number(cc[2]), number(need("vram_gb")),
            number(need("mem_bw_gb_per_s")), number(need("fp16_tflops")), number(need("tdp_w")),
            reading(need("idle_w")), quoted(need("source"))
    }
}

what == "anchors" {
    split_line($0)
    if (FNR > 1) {
        if (need("in_published_fit") !~ /^[01]$/) {
            die("in_published_fit is neither 0 nor 1")
        }
        printf "{.id = %s,\n .gpu = %s, .arch = %s, .model = %s, .precision = %s, .engine = %s,\n", quoted(need("id")),
            quoted(need("gpu")), quoted(need("arch")), quoted(need("model")), quoted(need("precision")),
            quoted(need("engine"))
        printf " .stack = %s,\n .session = %s, .window = %s, .doi = %s, .licence = %s,\n .note = %s,\n",
            quoted(need("stack")), quoted(need("session")), quoted(need("window")), quoted(need("doi")),
            quoted(need("licence")), quoted(need("note"))
        printf " .params_b = %s, .n_trials = %s, .in_published_fit = %s,\n", number(need("params_b")),
            need("n_trials") == "" ? "0" : number(need("n_trials")), need("in_published_fit") == "1" ? "true" : "false"
        printf " .vram_gb = %s, .batch = %s, .context = %s,\n", reading(need("vram_gb")), reading(need("batch")),
            reading(need("context"))
        printf " .energy_fp16_j1k = %s, .energy_quant_j1k = %s,\n .energy_fp16_sd_j1k = %s, .energy_quant_sd_j1k = %s,\n",
            reading(need("energy_fp16_j1k")), reading(need("energy_quant_j1k")),
            reading(need("energy_fp16_sd_j1k")), reading(need("energy_quant_sd_j1k"))
        printf " .delta_pct_only = %s,\n .throughput_quant_tok_s = %s, .power_quant_w = %s,\n .basis = %s},\n",
            reading(need("delta_pct_only")), reading(need("throughput_quant_tok_s")), reading(need("power_quant_w")),
            basis(need("basis"))
    }
}

# ---- JSON: every leaf as value[path], paths joined by "/", in order in path[1..n_paths] ----
what == "curves" {
    json = json $0 "\n"
}

function json_space() {
    match(json, /^[ \t\n]*/)
    json = substr(json, RLENGTH + 1)
}

function json_string(text) {
    if (!match(json, /^"[^"\\]*"/)) {
        die("a string without escapes is expected before: " substr(json, 1, 40))
    }
    text = substr(json, 2, RLENGTH - 2)
    json = substr(json, RLENGTH + 1)
    return text
}

function json_take(c) {
    json_space()
    if (substr(json, 1, 1) != c) {
        return 0
    }
    json = substr(json, 2)
    return 1
}

function json_value(at, key, i) {
    json_space()
    if (json_take("{")) {
        order[at] = ""
        if (json_take("}")) {
            return
        }
        do {
            json_space()
            key = json_string()
            order[at] = order[at] (order[at] == "" ? "" : "/") key
            if (!json_take(":")) {
                die("':' is expected")
            }
            json_value(at "/" key)
        } while (json_take(","))
        if (!json_take("}")) {
            die("'}' is expected")
        }
    } else if (json_take("[")) {
        length_of[at] = 0
        if (json_take("]")) {
            return
        }
        i = 0
        do {
            json_value(at "/" i++)
        } while (json_take(","))
        length_of[at] = i
        if (!json_take("]")) {
            die("']' is expected")
        }
    } else if (substr(json, 1, 1) == "\"") {
        value[at] = json_string()
    } else if (match(json, /^(null|-?[0-9]+(\.[0-9]+)?)/)) {
        value[at] = substr(json, 1, RLENGTH)
        json = substr(json, RLENGTH + 1)
    } else {
        die("a value is expected before: " substr(json, 1, 40))
    }
}

function leaf(at) {
    if (!(at in value)) {
        die("no " at)
    }
    return value[at]
}

function nullable(text) {
    return text == "null" ? reading("") : reading(text)
}

function names_array(name, type, at, is_number, keys, n, i) {
    n = split(order[at], keys, "/")
    printf "static const %s %s[] = {\n", type, name
    for (i = 1; i <= n; i++) {
        printf "{%s, %s},\n", quoted(keys[i]), is_number ? number(leaf(at "/" keys[i])) : quoted(leaf(at "/" keys[i]))
    }
    print "};\n"
}

function curve_anchors(arch, precision, at, i, a) {
    at = "/curves/" arch "/" precision "/anchors"
    printf "static const eco_curve_anchor anchors_%s_%s[] = {\n", arch, tolower(precision)
    for (i = 0; i < length_of[at]; i++) {
        a = at "/" i
        printf "{%s, %s, %s, %s, %s, ECO_BASIS_MEASURED},\n", number(leaf(a "/N")), number(leaf(a "/dE")),
            quoted(leaf(a "/model")), quoted(leaf(a "/gpu")), number(leaf(a "/n"))
    }
    print "};\n"
}

function curve_row(arch, precision, at) {
    at = "/curves/" arch "/" precision
    printf "{%s, %s, %s, %s, %s, %s, %s, %s, %s, %s,\n anchors_%s_%s, %d},\n", quoted(arch), quoted(precision),
        number(leaf(at "/A")), number(leaf(at "/S")), number(leaf(at "/Nstar")), number(leaf(at "/resid_std")),
        number(leaf(at "/n_min")), number(leaf(at "/n_max")), nullable(leaf(at "/crossover_b")),
        nullable(leaf(at "/loo_mae")), arch, tolower(precision), length_of[at "/anchors"]
}

function curves_array(archs, precisions, n, m, i, k, rows) {
    n = split(order["/curves"], archs, "/")
    for (i = 1; i <= n; i++) {
        m = split(order["/curves/" archs[i]], precisions, "/")
        for (k = 1; k <= m; k++) {
            curve_anchors(archs[i], precisions[k])
        }
    }
    print "static const eco_curve published_curves[] = {"
    for (i = 1; i <= n; i++) {
        m = split(order["/curves/" archs[i]], precisions, "/")
        for (k = 1; k <= m; k++) {
            curve_row(archs[i], precisions[k])
        }
    }
    print "};\n"
}

function baselines_array(archs, n, i, k, at, a) {
    n = split(order["/fp16_energy"], archs, "/")
    for (i = 1; i <= n; i++) {
        at = "/fp16_energy/" archs[i] "/anchors"
        printf "static const eco_fp16_anchor fp16_%s[] = {\n", archs[i]
        for (k = 0; k < length_of[at]; k++) {
            a = at "/" k
            printf "{%s, %s, %s, %s},\n", number(leaf(a "/N")), number(leaf(a "/e_j1k")), quoted(leaf(a "/model")),
                quoted(leaf(a "/gpu"))
        }
        print "};\n"
    }
    print "static const eco_fp16_baseline published_baselines[] = {"
    for (i = 1; i <= n; i++) {
        at = "/fp16_energy/" archs[i]
        printf "{%s, %s, %s, fp16_%s, %d},\n", quoted(archs[i]), number(leaf(at "/n_min")), number(leaf(at "/n_max")),
            archs[i], length_of[at "/anchors"]
    }
    print "};\n"
}

function hardware_array(archs, n, i, at) {
    n = split(order["/hardware"], archs, "/")
    print "static const eco_class_hardware published_hardware[] = {"
    for (i = 1; i <= n; i++) {
        at = "/hardware/" archs[i]
        printf "{%s, %s, %s, %s, %s},\n", quoted(archs[i]), quoted(leaf(at "/gpu")), number(leaf(at "/mem_bw_gbps")),
            number(leaf(at "/fp16_tflops")), quoted(leaf(at "/source"))
    }
    print "};\n"
}

END {
    if (failed) {
        exit 1
    }
    if (what == "curves") {
        json_value("")
        json_space()
        if (json != "") {
            die("something follows the document")
        }
        printf "static const char published_model[] = %s;\n\n", quoted(leaf("/model"))
        names_array("published_caps", "eco_curve_cap", "/s_cap", 1)
        names_array("published_labels", "eco_curve_name", "/arch_label", 0)
        names_array("published_borrows", "eco_curve_name", "/borrow", 0)
        curves_array()
        baselines_array()
        hardware_array()
    }
}
