/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over files and folders without a fuzzer, in every build: the corpus as a regression test. Every
 * input also runs cut short at each eighth of its length and with single bytes changed in a fixed way, so that the
 * corpus stays small and the error paths are walked too. No input at all is a failure.
 */
#define _DEFAULT_SOURCE

#include "fuzz_check.h"

#include <dirent.h>
#include <sys/stat.h>

enum { INPUT_BYTES_MAX = 1 << 20, N_CUTS = 8, N_CHANGES = 64 };

static unsigned long n_inputs, n_runs;

static void run_one(const uint8_t *data, size_t size) {
    n_runs++;
    FUZZ_DEMAND(LLVMFuzzerTestOneInput(data, size) == 0);
}

/* Changes follow from the input's length alone (a linear congruential sequence): the same in every run. */
static void run_variants(uint8_t *data, size_t size) {
    run_one(data, size);
    for (size_t i = 1; i < N_CUTS; i++) {
        run_one(data, size * i / N_CUTS);
    }
    uint64_t state = size;
    for (size_t i = 0; i < N_CHANGES && size > 0; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const size_t place = (size_t)(state >> 33) % size;
        const uint8_t before = data[place];
        data[place] = (uint8_t)(before ^ (1u << (state >> 20) % 8));
        run_one(data, size);
        data[place] = before;
    }
}

static void run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(INPUT_BYTES_MAX);
    if (file == NULL || data == NULL) {
        perror(path);
        exit(1);
    }
    const size_t size = fread(data, 1, INPUT_BYTES_MAX, file);
    FUZZ_DEMAND(ferror(file) == 0 && feof(file) != 0);
    (void)fclose(file);
    n_inputs++;
    run_variants(data, size);
    free(data);
}

static void run_path(const char *path) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        perror(path);
        exit(1);
    }
    if (!S_ISDIR(facts.st_mode)) {
        run_file(path);
        return;
    }
    struct dirent **names = NULL;
    const int n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char inner[4096];
        if (names[i]->d_name[0] != '.') {
            FUZZ_DEMAND((size_t)snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name) <
                        sizeof inner);
            run_file(inner);
        }
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        run_path(argv[i]);
    }
    printf("%lu inputs, %lu runs\n", n_inputs, n_runs);
    return n_inputs > 0 ? 0 : 1;
}
